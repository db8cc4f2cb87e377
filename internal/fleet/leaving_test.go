package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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

// A host that is gone is reported once, and within ten seconds after its lease has ended, by whichever host
// can: the holder of the notifier's lease may have no channel for it, and one that reports it may die.
func TestAHostThatIsGoneIsToldInTime(t *testing.T) {
	const within = 10 * time.Second
	for name, c := range map[string]struct {
		can  []string // hosts with a channel for it
		dies string   // one that dies while it reports
		by   int
	}{
		"all can":               {can: []string{"a", "b", "c"}, by: 1},
		"one can":               {can: []string{"c"}, by: 1},
		"nobody can":            {},
		"one dies meanwhile":    {can: []string{"b", "c"}, dies: "b", by: 1},
		"the only one can't do": {can: []string{"c"}, dies: "c"},
	} {
		for offset := range 8 {
			t.Run(fmt.Sprint(name, " ", offset), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, stop := context.WithCancel(t.Context())
					store := NewMemory(time.Now)
					var told []time.Time
					over := make(chan struct{})
					var ended sync.WaitGroup
					for i, host := range []string{"a", "b", "c"} {
						time.Sleep(time.Duration(i*offset) * 700 * time.Millisecond)
						f := New(Filled(Options{
							Store: store, Host: host, Life: host + "'s", Rand: func() float64 { return 0.5 }, Rules: func() Rules { return Rules{} },
							Account: func(resume.Session) string { return "" }, Stir: func(context.Context) {},
							Tells: func() bool { return true }, TellsGone: func() bool { return slices.Contains(c.can, host) },
							HostGone: func(gone Host) (string, []byte) { return "gone/" + gone.Life, []byte(gone.Host) },
							Deliver: func(ctx context.Context, n Notice) error {
								require.Equal(t, "busy", string(n.Data))
								if host == c.dies {
									<-over // nothing of it runs any more
								}
								if ctx.Err() != nil || !slices.Contains(c.can, host) {
									return errors.New("no channel")
								}
								told = append(told, time.Now())
								return nil
							},
						}))
						ended.Go(func() { _ = f.Run(ctx) })
					}
					time.Sleep(time.Minute)
					for host, waiting := range map[string]int{"busy": 2, "idle": 0} {
						_, err := store.Update(ctx, Leases, HostKey(host), fmt.Appendf(nil, `{"host":%q,"life":"%[1]s","waiting":%d}`, host, waiting), 0, LeaseTTL)
						require.NoError(t, err)
					}
					gone := time.Now().Add(LeaseTTL)
					time.Sleep(LeaseTTL + within)
					synctest.Wait()
					if c.by > 0 && c.dies == "" {
						require.Len(t, told, c.by)
						require.WithinRange(t, told[0], gone, gone.Add(within))
					}
					time.Sleep(LeaseTTL) // then another one reports it, if one has died
					synctest.Wait()
					require.Len(t, told, c.by)
					time.Sleep(10 * time.Minute)
					synctest.Wait()
					require.Len(t, told, c.by, "once")
					stop()
					close(over)
					ended.Wait()
				})
			})
		}
	}
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
