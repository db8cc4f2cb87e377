package resume

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// Inside a bubble the clock cannot be set back, but a daemon may find what one
// left whose clock ran ahead.
func TestAWaitThatBeganInTheFutureEnds(t *testing.T) {
	const ahead = 1000 * time.Hour
	policy := defaultRules().Backoff
	policy.Jitter = false
	rules := defaultRules()
	rules.Backoff = policy
	wait := policy.Delay(1, half)
	for name, c := range map[string]struct {
		at   func(s Session, now time.Time) Session // the session, as a clock wrote it that said now
		want time.Duration
	}{
		"a wait by backoff": {
			func(s Session, now time.Time) Session {
				return s.Next(limited(now, limit.Overloaded), rules, now, half)
			}, wait,
		},
		"what a person ordered": {
			func(s Session, now time.Time) Session {
				return s.Next(limited(now, limit.Overloaded), rules, now, half).Next(Retry{}, rules, now, half)
			}, 0,
		},
		"what was held back": {
			func(s Session, now time.Time) Session {
				s = s.Next(limited(now, limit.Overloaded), rules, now, half)
				now = now.Add(wait)
				return s.Next(Due{"m"}, rules, now, half).Next(NotSent{Mark: "m", Why: "held"}, rules, now, half)
			}, wait,
		},
		"what settles": {
			func(s Session, now time.Time) Session {
				s = s.Next(limited(now, limit.Overloaded), rules, now, half)
				now = now.Add(wait)
				s = s.Next(Due{"m"}, rules, now, half).Next(Started{Mark: "m"}, rules, now, half)
				return s.Next(Ended{Mark: "m", Outcome: Delivered}, rules, now, half)
			}, rules.Settle + policy.Delay(2, half),
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := c.at(Session{Key: Key{"bot", "a"}, Account: "bot:a", Cwd: "/src"}, time.Now().Add(ahead))
				w := newWorldOf(t, Options{Rules: rules, Sessions: []Session{s}}, waits)
				time.Sleep(time.Hour)
				w.stop()
				require.Equal(t, []time.Duration{c.want}, w.started())
			})
		})
	}
}

func TestAStatedResetStaysWhenTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), waits)
		reset := time.Now().Add(3 * time.Hour)
		w.see("a", limitedUntil(time.Now(), limit.UsageLimit, reset))
		before := w.session("a").NextAt
		w.setBack(time.Hour)
		require.Equal(t, before, w.session("a").NextAt)
		w.stop()
	})
}

// setBack makes the engine believe that its clock was ahead until now.
func (w *world) setBack(by time.Duration) {
	require.NoError(w.t, w.do(w.t.Context(), func(context.Context) {
		w.latest = w.latest.Add(by)
		for s := range w.book.all() {
			for _, at := range []*time.Time{&s.LimitedAt, &s.MovedAt, &s.BornAt, &s.FoundAt, &s.WaitFrom} {
				if !at.IsZero() {
					*at = at.Add(by)
				}
			}
			w.book.put(s)
		}
		for _, a := range w.accounts {
			a.last.at = a.last.at.Add(by)
		}
	}))
	require.NoError(w.t, w.Ping(w.t.Context()))
}

func TestAClockThatIsSetBackHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), recovers)
		w.seeShared("a", limited(time.Now(), limit.Overloaded))
		w.seeShared("b", limited(time.Now(), limit.Overloaded))
		time.Sleep(65 * time.Second)
		require.Len(t, w.started(), 2)
		w.seeShared("a", limited(time.Now(), limit.Overloaded))
		w.setBack(1000 * time.Hour)
		w.seeShared("b", limited(time.Now(), limit.Overloaded))
		time.Sleep(5 * time.Minute)
		require.Len(t, w.started(), 4)
		w.stop()
	})
}

func TestARecordOfTheFutureDoesNotMakeLaterOnesOldNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), waits)
		w.see("a", Progressed{At: time.Now().Add(1000 * time.Hour)})
		time.Sleep(time.Second)
		require.NoError(t, w.Observe(t.Context(), []Observation{{
			Key: Key{"bot", "a"}, Pos: Position{"another file", 1}, Event: limited(time.Now(), limit.Overloaded),
		}}))
		require.Equal(t, Waiting, w.session("a").State)
		w.stop()
	})
}

// A laptop that is closed right after a resume: its agent slept too.
func TestWhatSettlesIsGivenTheTimeThatTheMachineSlept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const night = 8 * time.Hour
		w := newWorld(t, defaultRules(), func(ctx context.Context, w *world, s Session) {
			_, _ = w.Apply(ctx, s.Key, Ended{Mark: s.Run.Mark, Outcome: Delivered})
		})
		w.see("a", limited(time.Now(), limit.Overloaded))
		time.Sleep(time.Minute)
		s := w.session("a")
		require.Equal(t, Settling, s.State)
		left := time.Until(s.NextAt)
		require.NoError(t, w.do(t.Context(), func(ctx context.Context) {
			w.latest = w.latest.Add(-night) // what was noted was noted by the clock of the evening
			s.WaitFrom, s.NextAt = s.WaitFrom.Add(-night), s.NextAt.Add(-night)
			w.keep(s)
			w.watchClock(ctx)
		}))
		require.Equal(t, Settling, w.session("a").State, "it did not have the time to move")
		require.Equal(t, left, time.Until(w.session("a").NextAt))
		time.Sleep(left)
		synctest.Wait()
		require.Equal(t, NoProgress, w.session("a").Attempts[0].Outcome, "it had the time now")
		w.stop()
	})
}

// A duration counts from when it was said. Where the clock was set back since then, by
// years perhaps, that lies ahead: it counts from now on. What a provider states by its own clock stays.
func TestADurationCountsFromNowWhenTheClockIsSetBack(t *testing.T) {
	const wait = 3 * time.Hour
	for _, counted := range []bool{true, false} {
		ahead, want := 5*24*time.Hour, wait
		if !counted {
			want += ahead
		}
		then := noon.Add(ahead)
		ev := Limited{At: then, Verdict: limit.Verdict{
			Class: limit.RateLimit, WaitHelps: true, Reset: limit.Reset{At: then.Add(wait), Source: limit.Words, Counted: counted},
		}}
		readAfterwards := Session{}.Next(ev, defaultRules(), noon, 0)
		require.Equal(t, Waiting, readAfterwards.State)
		require.Equal(t, want, readAfterwards.Limit.Reset.At.Sub(noon))

		readBefore := Session{}.Next(ev, defaultRules(), then, 0).Next(Rewound{}, defaultRules(), noon, 0)
		require.Equal(t, Waiting, readBefore.State)
		require.Equal(t, want, readBefore.Limit.Reset.At.Sub(noon))
		require.Equal(t, readAfterwards.NextAt, readBefore.NextAt)
	}
}
