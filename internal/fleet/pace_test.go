package fleet

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

func TestManyHostsSayLessOftenThatTheyAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemory(time.Now)
		f := aheadBy(store, 0)
		for i := range 4*manyHosts - 1 {
			name := fmt.Sprint("h", i)
			_, err := store.Update(t.Context(), Leases, HostKey(name), fmt.Appendf(nil, `{"host":%q}`, name), 0, 0)
			require.NoError(t, err)
		}
		next := f.tick(t.Context())
		require.Equal(t, Heartbeat, next.Sub(f.now()), "it is the first time that it sees them")
		time.Sleep(next.Sub(f.now()))
		next = f.tick(t.Context())
		require.Equal(t, 4*Heartbeat, next.Sub(f.now()), "as many writes as a thousand hosts make")
		time.Sleep(12*Heartbeat - time.Second)
		_, err := store.Get(t.Context(), Leases, HostKey("a"))
		require.NoError(t, err, "it counts as gone after three of its own heartbeats, not of others'")
		time.Sleep(time.Second)
		_, err = store.Get(t.Context(), Leases, HostKey("a"))
		require.ErrorIs(t, err, ErrMissing)
	})
}

// It is not known how long a probe takes: its lease is renewed until it ends, and nothing else is done.
func TestALongProbeIsKeptAndCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemory(time.Now)
		f := aheadBy(store, 0)
		s := resume.Session{
			Key: resume.Key{Agent: "bot", ID: "s"}, State: resume.Waiting, LimitedAt: time.Now().Add(-time.Hour),
			Interruption: resume.Interruption{
				Limit: limit.Verdict{Class: limit.UsageLimit, Reset: limit.Reset{At: time.Now().Add(-30 * time.Minute)}},
			},
		}
		f.Restore([]*resume.Session{&s})
		_, _ = f.Ask(s, f.now())
		f.tick(t.Context())
		why, _ := f.Ask(s, f.now())
		require.Empty(t, why, "it has leave to try")
		ticks := 0
		for began := time.Now(); time.Since(began) < 5*time.Minute; ticks++ {
			next := f.tick(t.Context())
			require.Less(t, ticks, 200, "it waits between two looks")
			time.Sleep(next.Sub(f.now()))
			_, err := store.Get(t.Context(), Leases, ProbeKey("x"))
			require.NoError(t, err)
		}
	})
}
