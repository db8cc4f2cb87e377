package fleet

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A host that stops must not make the others wait until its leases have expired.
func TestAHostThatStopsLeavesNothingToWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, store := t.Context(), NewMemory(time.Now)
		f := New(Filled(Options{
			Store: store, Host: "a", Life: "1", Rand: func() float64 { return 0 },
			Tells: func() bool { return true }, Rules: func() Rules { return Rules{} }, Stir: func(context.Context) {},
		}))
		require.NoError(t, f.heartbeat(ctx))
		_, err := store.Get(ctx, Leases, NotifierKey)
		require.NoError(t, err)

		limited := Account{State: resume.Open, LimitedAt: time.Now(), Epoch: 1}
		rev, err := f.put(ctx, Accounts, "shared", limited, 0, 0)
		require.NoError(t, err)
		_, err = f.tryProbe(ctx, "shared", stored{limited, rev})
		require.NoError(t, err)
		e, err := store.Get(ctx, Accounts, "shared")
		require.NoError(t, err)
		probes, err := ReadAccount(e)
		require.NoError(t, err)
		require.Equal(t, resume.HalfOpen, probes.State)

		f.stop(ctx)
		for _, key := range []string{NotifierKey, ProbeKey("shared")} {
			_, err = store.Get(ctx, Leases, key)
			require.ErrorIs(t, err, ErrMissing, key)
		}
		e, err = store.Get(ctx, Accounts, "shared")
		require.NoError(t, err)
		left, err := ReadAccount(e)
		require.NoError(t, err)
		require.Equal(t, limited.State, left.State, "the next host may try")
		e, err = store.Get(ctx, Leases, HostKey("a"))
		require.NoError(t, err)
		require.True(t, readHost(e).Bye)
	})
}

// published is a store that counts notices, also those of one id: a server forgets ids after a while.
type published struct {
	*Memory
	ids []string
}

func (p *published) Publish(_ context.Context, from, id string, _ []byte) (Notice, error) {
	p.ids = append(p.ids, id)
	return Notice{Host: from}, nil
}

func TestAHostThatIsMissingIsToldOnce(t *testing.T) {
	store := &published{Memory: NewMemory(time.Now)}
	f := New(Filled(Options{Store: store, Host: "here", HostGone: func(gone Host) (string, []byte) { return "gone/" + gone.Host, []byte("x") }}))
	f.missing["busy"] = Host{Host: "busy", Waiting: 1}
	f.missing["idle"] = Host{Host: "idle", Shows: map[string]int{"a": 1}}
	for range 3 {
		f.reportMissing(t.Context())
	}
	require.Equal(t, []string{"gone/busy"}, store.ids)
}

// Times of a host whose clock is wrong, or that was broken into, must not outlast those of the others.
func TestNoTimeOfAHostIsLaterThanItsRecord(t *testing.T) {
	const far = `"2099-01-01T00:00:00Z"`
	a, err := ReadAccount(Entry{At: noon, Value: []byte(`{"state":"half_open","limited_at":` + far + `,"closed_at":` + far + `,"probe":{"host":"b","mark":"m","at":` + far + `}}`)})
	require.NoError(t, err)
	require.Equal(t, []time.Time{noon, noon, noon}, []time.Time{a.LimitedAt, a.ClosedAt, a.Probe.At})
	closed, err := ReadAccount(Entry{At: noon, Value: []byte(`{"state":"closed","closed_at":` + far + `}`)})
	require.NoError(t, err)
	_, opens := closed.Refused(Refusal{At: noon.Add(time.Minute), Host: "c"})
	require.True(t, opens, "a refusal since then counts")
}
