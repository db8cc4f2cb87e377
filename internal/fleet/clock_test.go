package fleet

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

func aheadBy(store Store, d time.Duration) *Fleet {
	return New(Filled(Options{
		Store: store, Host: "a", Life: "1", Rules: func() Rules { return rules }, Account: func(resume.Session) string { return "x" },
		Stir: func(context.Context) {}, Now: func() time.Time { return time.Now().Add(d) }, Rand: func() float64 { return 0.5 },
	}))
}

func TestFleetTimeIsTheStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := aheadBy(NewMemory(time.Now), 4*time.Minute)
		reset := time.Now().Add(time.Hour)
		f.Restore([]*resume.Session{
			{State: resume.Waiting, LimitedAt: time.Now().Add(4 * time.Minute), Interruption: resume.Interruption{Limit: limit.Verdict{Class: limit.UsageLimit, Reset: limit.Reset{At: reset}}}},
		})
		require.WithinDuration(t, time.Now().Add(4*time.Minute), f.Known()["x"].LimitedAt, 0, "nobody has told it the time")
		require.NoError(t, f.measure(t.Context()))
		require.WithinDuration(t, time.Now(), f.Known()["x"].LimitedAt, 0)
		require.Equal(t, reset, f.Known()["x"].Reset, "what a provider states is by nobody's clock")
		require.Equal(t, -4*time.Minute, f.Standing().Skew)
		require.False(t, f.Standing().Alone)
		why, until := f.Ask(resume.Session{Interruption: resume.Interruption{Limit: limit.Verdict{Class: limit.UsageLimit}}}, f.now())
		require.Contains(t, why, "as host a was told")
		require.Equal(t, reset.Add(rules.Margin+4*time.Minute).Round(0), until, "by this host's clock")
	})
}

func TestAClockThatIsTooFarOffLeavesItsHostAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := aheadBy(NewMemory(time.Now), -6*time.Minute)
		require.False(t, f.Standing().Alone)
		f.tick(t.Context())
		require.True(t, f.Standing().Alone)
		require.Contains(t, f.Standing().Why, "clock")
	})
}

func TestAnOldAnswerIsNoNews(t *testing.T) {
	f := aheadBy(NewMemory(time.Now), 0)
	require.True(t, f.remember("x", stored{opened(), 5}))
	require.False(t, f.remember("x", stored{Account{State: resume.Closed}, 4}))
	require.Equal(t, resume.Open, f.Known()["x"].State)
	require.True(t, f.remember("x", stored{Account{State: resume.Closed}, 6}))
}

func TestAProbeThatOthersWentOnWithoutIsGivenUp(t *testing.T) {
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
		why, _ := f.Ask(s, f.now())
		require.NotEmpty(t, why)
		f.tick(t.Context())
		why, _ = f.Ask(s, f.now())
		require.Empty(t, why, "it has leave to try")
		_, err := store.Get(t.Context(), Leases, ProbeKey("x"))
		require.NoError(t, err)

		require.NoError(t, f.change(t.Context(), "x", func(a Account) (Account, bool) { return a.Forgotten(time.Now()), true }))
		time.Sleep(Heartbeat)
		f.tick(t.Context())
		_, err = store.Get(t.Context(), Leases, ProbeKey("x"))
		require.ErrorIs(t, err, ErrMissing, "it holds up nobody")
	})
}
