package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

// Inside a bubble the clock cannot be set back, but a daemon may load what another one stored when its
// clock was ahead.
func TestAWaitThatBeganInTheFutureEnds(t *testing.T) {
	const ahead = 1000 * time.Hour
	policy := defaultRules().Backoff
	policy.Jitter = false
	rules := defaultRules()
	rules.Backoff = policy
	wait := policy.Delay(1, half)
	for name, c := range map[string]struct {
		at   func(s resume.Session, now time.Time) resume.Session // the session, as stored by a clock that showed now
		want time.Duration
	}{
		"a wait by backoff": {
			func(s resume.Session, now time.Time) resume.Session {
				return s.Next(limited(now, limit.Overloaded), rules, now, half)
			}, wait,
		},
		"what a person ordered": {
			func(s resume.Session, now time.Time) resume.Session {
				return s.Next(limited(now, limit.Overloaded), rules, now, half).Next(resume.Retry{}, rules, now, half)
			}, 0,
		},
		"what was held back": {
			func(s resume.Session, now time.Time) resume.Session {
				s = s.Next(limited(now, limit.Overloaded), rules, now, half)
				now = now.Add(wait)
				return s.Next(resume.Due{Mark: "m"}, rules, now, half).Next(resume.NotSent{Mark: "m", Why: "held"}, rules, now, half)
			}, wait,
		},
		"what settles": {
			func(s resume.Session, now time.Time) resume.Session {
				s = s.Next(limited(now, limit.Overloaded), rules, now, half)
				now = now.Add(wait)
				s = s.Next(resume.Due{Mark: "m"}, rules, now, half).Next(resume.Started{Mark: "m"}, rules, now, half)
				return s.Next(resume.Ended{Mark: "m", Outcome: resume.Delivered}, rules, now, half)
			}, rules.Settle + policy.Delay(2, half),
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := c.at(resume.Session{Key: resume.Key{Agent: "bot", ID: "a"}, Account: "bot:a", Cwd: "/src"}, time.Now().Add(ahead))
				w := newWorldOf(t, Options{Rules: rules, Sessions: []resume.Session{s}}, waits)
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
		w.see("a", resume.Progressed{At: time.Now().Add(1000 * time.Hour)})
		time.Sleep(time.Second)
		require.NoError(t, w.Observe(t.Context(), []resume.Observation{{
			Key: resume.Key{Agent: "bot", ID: "a"}, Pos: resume.Position{Epoch: "another file", Offset: 1}, Event: limited(time.Now(), limit.Overloaded),
		}}))
		require.Equal(t, resume.Waiting, w.session("a").State)
		w.stop()
	})
}

// A session that works by a clock that is ahead says nothing about a limit that is met later.
func TestARecordOfTheFutureDoesNotEndTheLimitsOfTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), fails)
		w.seeShared("a", resume.Progressed{At: time.Now().Add(1000 * time.Hour)})
		time.Sleep(time.Minute)
		reset := time.Now().Add(3 * time.Hour)
		w.seeShared("b", limitedUntil(time.Now(), limit.UsageLimit, reset))
		w.seeShared("c", limited(time.Now(), limit.UsageLimit))
		time.Sleep(2 * time.Hour)
		require.Equal(t, resume.Waiting, w.session("c").State, sentence.Of(w.session("c")))
		require.Empty(t, w.started())
		w.stop()
	})
}

// A laptop that is closed right after a resume: its agent sleeps too.
func TestWhatSettlesIsGivenTheTimeThatTheMachineSlept(t *testing.T) {
	for _, slept := range []time.Duration{100 * time.Second, 8 * time.Hour} {
		synctest.Test(t, func(t *testing.T) { settleAfter(t, slept) })
	}
}

func settleAfter(t *testing.T, slept time.Duration) {
	w := newWorld(t, defaultRules(), func(ctx context.Context, w *world, s resume.Session) {
		_, _ = w.Apply(ctx, s.Key, resume.Ended{Mark: s.Run.Mark, Outcome: resume.Delivered})
	})
	w.see("a", limited(time.Now(), limit.Overloaded))
	time.Sleep(time.Minute)
	s := w.session("a")
	require.Equal(t, resume.Settling, s.State)
	left := time.Until(s.NextAt)
	require.Less(t, left, slept, "otherwise a lost sleep is not noticed")
	require.NoError(t, w.do(t.Context(), func(ctx context.Context) {
		w.latest = w.latest.Add(-slept) // stored by the clock before
		s.WaitFrom, s.NextAt = s.WaitFrom.Add(-slept), s.NextAt.Add(-slept)
		w.keep(s)
		w.watchClock(ctx)
	}))
	require.Equal(t, resume.Settling, w.session("a").State, "it did not have the time to move")
	require.Equal(t, left, time.Until(w.session("a").NextAt))
	time.Sleep(left)
	synctest.Wait()
	require.Equal(t, resume.NoProgress, w.session("a").Attempts[0].Outcome, "it had the time now")
	w.stop()
}
