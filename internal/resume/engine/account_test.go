package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
	"resumed/internal/resume/view"
)

// seeOf is see for sessions of one home that use several providers.
func (w *world) seeOf(provider, id string, ev resume.Event) {
	w.offset++
	require.NoError(w.t, w.Observe(w.t.Context(), []resume.Observation{{
		Key: resume.Key{Agent: "bot", ID: id}, Account: "bot:default", Provider: provider, Cwd: "/src/" + id, Pos: resume.Position{Epoch: "1", Offset: w.offset}, Event: ev,
	}}))
}

func (w *world) accountOf(provider string) resume.Account {
	all, err := w.Accounts(w.t.Context())
	require.NoError(w.t, err)
	for _, a := range all {
		if a.AccountKey == (resume.AccountKey{Name: "bot:default", Provider: provider}) {
			return a
		}
	}
	w.t.Fatal("no such account: " + provider)
	return resume.Account{}
}

// works runs until the daemon ends, and its transcript does not move.
func works(ctx context.Context, w *world, s resume.Session) {
	_, _ = w.Apply(ctx, s.Key, resume.Started{Mark: s.Run.Mark, Process: resume.Process{PID: 9}})
	<-ctx.Done()
}

func TestALimitOfOneProviderHoldsBackNobodyOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Stagger = 10, time.Hour
		w := newWorld(t, rules, works)
		start := time.Now()
		reset := start.Add(10 * time.Second)
		w.seeOf("anthropic", "a1", limitedUntil(start, limit.RateLimit, reset))
		w.seeOf("anthropic", "a2", limitedUntil(start, limit.RateLimit, reset))
		w.seeOf("openai", "o1", limitedUntil(start, limit.RateLimit, reset))
		time.Sleep(11 * time.Second)
		require.Equal(t, resume.Resuming, w.session("a1").State)
		require.Equal(t, resume.Resuming, w.session("o1").State, "neither the probe nor the stagger of another provider is its business")
		require.Contains(t, sentence.Of(w.session("a2")), "the first one tries alone")
		require.Equal(t, resume.HalfOpen, w.accountOf("anthropic").State)
		require.Equal(t, 2, w.accountOf("anthropic").Sessions)
		w.seeOf("openai", "o1", resume.Progressed{At: time.Now()})
		require.Equal(t, resume.Closed, w.accountOf("openai").State)
		require.Equal(t, resume.HalfOpen, w.accountOf("anthropic").State, "who moves elsewhere proves nothing here")
		w.stop()
	})
}

func TestASessionThatChangesItsProviderLeavesTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Stagger, rules.Margin = 10, 0, 0
		w := newWorld(t, rules, works)
		reset := time.Now().Add(time.Minute)
		w.seeOf("anthropic", "a1", limitedUntil(time.Now(), limit.UsageLimit, reset))
		w.seeOf("anthropic", "a2", limitedUntil(time.Now(), limit.UsageLimit, reset))
		time.Sleep(61 * time.Second)
		require.Len(t, w.started(), 1)
		w.seeOf("openai", "a1", resume.Progressed{At: time.Now()})
		require.Equal(t, 1, w.accountOf("openai").Sessions)
		require.Equal(t, 1, w.accountOf("anthropic").Sessions)
		synctest.Wait()
		require.Len(t, w.started(), 2, "the one that tried alone does so no more: the next one may")
		w.stop()
	})
}

func TestAUsageLimitWithoutATimeEndsWithTheAccounts(t *testing.T) {
	hours := 3 * time.Hour
	for name, c := range map[string]struct {
		stopped func(w *world) // after the session "told" was stopped by a usage limit that lifts in three hours
		begins  time.Duration
	}{
		"nobody spends retries on a limit whose end is known": {
			func(w *world) { w.seeOf("anthropic", "mute", limited(time.Now(), limit.UsageLimit)) }, hours,
		},
		"another provider's has its own": {
			func(w *world) { w.seeOf("openai", "mute", limited(time.Now(), limit.UsageLimit)) }, 30 * time.Second,
		},
		"who waits for something else does not probe through it": {
			func(w *world) { w.seeOf("anthropic", "mute", limited(time.Now(), limit.Overloaded)) }, hours,
		},
		"a throttle does not either": {
			func(w *world) { w.seeOf("anthropic", "mute", limited(time.Now(), limit.RateLimit)) }, hours,
		},
		"another throttle with a time goes by that": {
			func(w *world) {
				w.seeOf("anthropic", "mute", limitedUntil(time.Now(), limit.RateLimit, time.Now().Add(time.Minute)))
			}, time.Minute,
		},
		"a person's order counts more": {
			func(w *world) {
				w.seeOf("anthropic", "mute", limited(time.Now(), limit.UsageLimit))
				_, err := w.Apply(w.t.Context(), resume.Key{Agent: "bot", ID: "mute"}, resume.Retry{})
				require.NoError(w.t, err)
			}, 0,
		},
		"an account that moved again is free": {
			func(w *world) {
				w.seeOf("anthropic", "mute", limited(time.Now(), limit.UsageLimit))
				time.Sleep(time.Minute)
				w.seeOf("anthropic", "third", resume.Progressed{At: time.Now()})
			}, time.Minute,
		},
		"the earliest of several ends counts": {
			func(w *world) {
				w.seeOf("anthropic", "weekly", limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(100*time.Hour)))
				w.seeOf("anthropic", "mute", limited(time.Now(), limit.UsageLimit))
			}, hours,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules := defaultRules()
				rules.MaxConcurrent, rules.Stagger, rules.Margin = 10, 0, 0
				w := newWorld(t, rules, recovers)
				start := time.Now()
				w.seeOf("anthropic", "told", limitedUntil(start, limit.UsageLimit, start.Add(hours)))
				c.stopped(w)
				time.Sleep(hours + time.Hour)
				w.stop()
				for _, change := range w.changes {
					if change.ClaimedRun() != nil && change.After.Key.ID == "mute" {
						got := change.At.Sub(start)
						require.GreaterOrEqual(t, got, c.begins)
						require.Less(t, got, c.begins+15*time.Second, "the probe is ahead of it at most")
						return
					}
				}
				t.Fatal("it was never resumed")
			})
		})
	}
}

// After a restart, the state of an account is computed from its waiting sessions.
func TestAnAccountIsKnownAgainAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		now := time.Now()
		waits := func(id, provider string, ev resume.Limited) resume.Session {
			s := resume.Session{Key: resume.Key{Agent: "bot", ID: id}, Account: "bot:default", Provider: provider}
			return s.Next(ev, rules, now, half)
		}
		tries := func(s resume.Session) resume.Session { return s.Next(resume.Due{Mark: "m"}, rules, now, half) }
		reset := now.Add(time.Hour)
		w := newWorldOf(t, Options{
			Rules: rules,
			Sessions: []resume.Session{
				waits("late", "anthropic", limited(now, limit.UsageLimit)),
				waits("early", "anthropic", limitedUntil(now.Add(-time.Minute), limit.UsageLimit, reset)),
				waits("old", "", limited(now, limit.RateLimit)), // stored by a daemon that knew no providers
				tries(waits("probe", "openai", limited(now.Add(-time.Hour), limit.RateLimit))),
				waits("next", "openai", limited(now.Add(-time.Hour), limit.RateLimit)),
				waits("slow", "google", limited(now.Add(-time.Hour), limit.RateLimit)),
				{Key: resume.Key{Agent: "bot", ID: "quick"}, Account: "bot:default", Provider: "google", State: resume.Watching, MovedAt: now.Add(-time.Minute)},
			},
		}, works)
		require.Equal(t, reset, w.accountOf("anthropic").ResetAt)
		require.Equal(t, resume.Open, w.accountOf("").State)
		require.Equal(t, resume.HalfOpen, w.accountOf("openai").State, "who tries does so alone")
		require.Equal(t, resume.Closed, w.accountOf("google").State, "one of them has moved since")
		w.stop()
	})
}

// A daemon that died between two steps may leave two sessions that try. If one of them is lost, the
// other one is still waited for.
func TestWhoWasFoundTryingIsWaitedForAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Stagger = 10, 0
		now := time.Now()
		tries := func(id string) resume.Session {
			s := resume.Session{Key: resume.Key{Agent: "bot", ID: id}, Account: "bot:default"}
			s = s.Next(limited(now.Add(-time.Hour), limit.RateLimit), rules, now, half)
			return s.Next(resume.Due{Mark: "of " + id}, rules, now, half)
		}
		w := newWorldOf(t, Options{Rules: rules, Sessions: []resume.Session{tries("runs"), tries("gone")}}, works)
		_, err := w.Apply(t.Context(), resume.Key{Agent: "bot", ID: "gone"}, resume.Lost{Mark: "of gone"})
		require.NoError(t, err)
		synctest.Wait()
		require.Contains(t, sentence.Of(w.session("gone")), "the first one tries alone")
		_, err = w.Apply(t.Context(), resume.Key{Agent: "bot", ID: "runs"}, resume.Ended{Mark: "of runs", Outcome: resume.Failed})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, resume.Resuming, w.session("gone").State, "now it is its turn")
		w.stop()
	})
}

func TestWhoBeganBeforeALimitWasReadTriesForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Stagger = 10, 0
		w := newWorld(t, rules, works)
		stopped := time.Now()
		w.seeOf("anthropic", "first", limited(stopped, limit.Overloaded))
		time.Sleep(time.Minute)
		require.Equal(t, resume.Resuming, w.session("first").State)
		w.seeOf("anthropic", "late", limited(stopped, limit.RateLimit)) // a minute old, and due
		synctest.Wait()
		require.Contains(t, sentence.Of(w.session("late")), "the first one tries alone")
		w.stop()
	})
}

func TestALostStartDoesNotShortenTheDistanceToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Stagger = 10, 20*time.Second
		now := time.Now()
		tries := func(id string, at time.Time) resume.Session {
			s := resume.Session{Key: resume.Key{Agent: "bot", ID: id}, Account: "bot:default"}
			s = s.Next(limited(at.Add(-time.Hour), limit.Timeout), rules, at, half)
			return s.Next(resume.Due{Mark: "of " + id}, rules, at, half)
		}
		w := newWorldOf(t, Options{Rules: rules, Sessions: []resume.Session{
			tries("runs", now.Add(-5*time.Second)), tries("gone", now.Add(-time.Second)),
		}}, works)
		_, err := w.Apply(t.Context(), resume.Key{Agent: "bot", ID: "gone"}, resume.Lost{Mark: "of gone"})
		require.NoError(t, err)
		time.Sleep(14 * time.Second)
		require.Contains(t, sentence.Of(w.session("gone")), "resume.stagger")
		time.Sleep(time.Second)
		require.Equal(t, resume.Resuming, w.session("gone").State)
		w.stop()
	})
}

// A resume may be withdrawn and started again before NotSent of the first one arrives: that does not
// affect the second.
func TestWhatHeldAnEarlierResumeDoesNotUndoTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Stagger = 10, 20*time.Second
		w := newWorld(t, rules, works)
		w.seeOf("anthropic", "a", limited(time.Now().Add(-time.Minute), limit.Overloaded))
		synctest.Wait()
		require.Equal(t, resume.Resuming, w.session("a").State)
		_, err := w.Apply(t.Context(), resume.Key{Agent: "bot", ID: "a"}, resume.NotSent{Mark: "an earlier one"})
		require.NoError(t, err)
		w.seeOf("anthropic", "b", limited(time.Now().Add(-time.Minute), limit.Overloaded))
		synctest.Wait()
		require.Contains(t, sentence.Of(w.session("b")), "resume.stagger")
		w.stop()
	})
}

func TestAProbeStaysOneWhenOthersMeetTheSameLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Stagger = 10, 0
		w := newWorld(t, rules, works)
		w.seeOf("anthropic", "probe", limitedUntil(time.Now(), limit.RateLimit, time.Now()))
		time.Sleep(time.Second)
		require.Equal(t, resume.Resuming, w.session("probe").State)
		w.seeOf("anthropic", "next", limitedUntil(time.Now(), limit.RateLimit, time.Now()))
		time.Sleep(time.Second)
		require.Contains(t, sentence.Of(w.session("next")), "the first one tries alone")
		w.seeOf("anthropic", "probe", resume.Progressed{At: time.Now()})
		synctest.Wait()
		require.Equal(t, resume.Resuming, w.session("next").State)
		w.stop()
	})
}

func TestAccountsTellTheTruth(t *testing.T) {
	const hour = time.Hour
	until := func(w *world, id string, class limit.Class, in time.Duration) {
		w.seeOf("anthropic", id, limitedUntil(time.Now(), class, time.Now().Add(in)))
	}
	for sentence, c := range map[string]struct {
		happens func(w *world)
		state   resume.Breaker
		resetIn time.Duration // from the beginning; 0: none is known
	}{
		"an account of which nothing is refused is free": {
			func(w *world) { w.seeOf("anthropic", "a", resume.Progressed{At: time.Now()}) }, resume.Closed, 0,
		},
		"it is not free while a stated window lies ahead": {func(w *world) { until(w, "a", limit.UsageLimit, hour) }, resume.Open, hour},
		"nor when another session moves meanwhile": {
			func(w *world) {
				until(w, "a", limit.UsageLimit, hour)
				time.Sleep(time.Minute)
				w.seeOf("anthropic", "b", resume.Progressed{At: time.Now()})
			}, resume.Open, hour,
		},
		"nor when one that waited for something else recovers": {
			func(w *world) {
				until(w, "a", limit.UsageLimit, hour)
				w.seeOf("anthropic", "b", limited(time.Now(), limit.Overloaded))
				w.seeOf("anthropic", "b", resume.Progressed{At: time.Now().Add(time.Second)})
			}, resume.Open, hour,
		},
		"nor while the session is parked for it": {func(w *world) { until(w, "a", limit.UsageLimit, 300*hour) }, resume.Open, 300 * hour},
		"nor while one tries before, by a person's order": {
			func(w *world) {
				until(w, "a", limit.UsageLimit, hour)
				w.order("a", resume.Retry{})
				time.Sleep(time.Second)
			}, resume.HalfOpen, hour,
		},
		"of several windows the earliest is told": {
			func(w *world) {
				until(w, "a", limit.UsageLimit, 100*hour)
				until(w, "b", limit.UsageLimit, hour)
				until(w, "c", limit.UsageLimit, 50*hour)
			}, resume.Open, hour,
		},
		"the movement of the session itself ends its window": {
			func(w *world) {
				until(w, "a", limit.UsageLimit, hour)
				time.Sleep(time.Minute)
				w.seeOf("anthropic", "a", resume.Progressed{At: time.Now()})
			}, resume.Closed, 0,
		},
		"a window that is over is none, once one has moved": {
			func(w *world) {
				until(w, "a", limit.UsageLimit, hour)
				w.order("a", resume.Pause{})
				time.Sleep(2 * hour)
				w.seeOf("anthropic", "b", resume.Progressed{At: time.Now()})
			}, resume.Closed, 0,
		},
		"a limit without a time is over when another session moves": {
			func(w *world) {
				w.seeOf("anthropic", "a", limited(time.Now(), limit.UsageLimit))
				w.order("a", resume.Pause{})
				time.Sleep(time.Minute)
				w.seeOf("anthropic", "b", resume.Progressed{At: time.Now()})
			}, resume.Closed, 0,
		},
		"what moved before the limit proves nothing": {
			func(w *world) {
				moved := time.Now()
				time.Sleep(time.Minute)
				w.seeOf("anthropic", "a", limited(time.Now(), limit.UsageLimit))
				w.seeOf("anthropic", "b", resume.Progressed{At: moved})
			}, resume.Open, 0,
		},
	} {
		for after, restarts := range map[string]bool{"": false, ", also after a restart": true} {
			t.Run(sentence+after, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, defaultRules(), works)
					start := time.Now()
					c.happens(w)
					synctest.Wait()
					if restarts {
						var kept []resume.Session
						all, err := w.Sessions(t.Context())
						require.NoError(t, err)
						for _, s := range all {
							data, err := json.Marshal(s)
							require.NoError(t, err)
							var back resume.Session
							require.NoError(t, json.Unmarshal(data, &back))
							kept = append(kept, back)
						}
						w.stop()
						w = newWorldOf(t, Options{Rules: defaultRules(), Sessions: kept, Paused: true}, works)
					}
					a := w.accountOf("anthropic")
					require.Equal(t, c.state, a.State)
					if c.resetIn > 0 {
						require.WithinDuration(t, start.Add(c.resetIn), a.ResetAt, 0)
					}
					w.stop()
				})
			})
		}
	}
}

// README promises it: no session of an account is tried before the reset that was stated to any of
// them.
func TestNothingIsProbedBeforeTheStatedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := ridingOut(t)
		rules.MaxConcurrent, rules.Stagger = 10, 0
		w := newWorld(t, rules, recovers)
		reset := time.Now().Add(3 * time.Hour)
		for i, class := range []limit.Class{limit.Overloaded, limit.Network, limit.RateLimit, limit.Timeout} {
			w.seeOf("anthropic", fmt.Sprint("before", i), limited(time.Now(), class))
		}
		time.Sleep(time.Second)
		w.seeOf("anthropic", "told", limitedUntil(time.Now(), limit.UsageLimit, reset))
		for i, class := range []limit.Class{limit.UsageLimit, limit.Overloaded, limit.ServerError, limit.Unknown} {
			w.seeOf("anthropic", fmt.Sprint("after", i), limited(time.Now(), class))
		}
		time.Sleep(10 * time.Hour)
		w.stop()
		require.Len(t, w.started(), 9)
		for _, at := range w.started() {
			require.GreaterOrEqual(t, at, 3*time.Hour+rules.Margin)
		}
	})
}

// A session that is due and held back shows until when, if a time is known.
func TestWhoIsHeldBackIsToldUntilWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := ridingOut(t)
		w := newWorld(t, rules, recovers)
		reset := time.Now().Add(3 * time.Hour)
		w.seeOf("anthropic", "overloaded", limited(time.Now(), limit.Overloaded))
		w.seeOf("anthropic", "told", limitedUntil(time.Now(), limit.UsageLimit, reset))
		time.Sleep(time.Hour)
		seen := view.Of(w.session("overloaded"), 0)
		require.Contains(t, seen.Reason, "due, but limited until")
		require.True(t, seen.Held)
		require.Equal(t, reset.Add(rules.Margin).UTC(), *seen.NextAt)

		require.NoError(t, w.SetPaused(t.Context(), true))
		time.Sleep(4 * time.Hour)
		seen = view.Of(w.session("overloaded"), 0)
		require.Equal(t, "due, but resumed is paused", seen.Reason)
		require.True(t, seen.Held)
		require.True(t, seen.NextAt.Before(time.Now()), "no time ends it")

		require.NoError(t, w.SetPaused(t.Context(), false))
		time.Sleep(time.Hour)
		require.False(t, view.Of(w.session("overloaded"), 0).Held)
		require.Nil(t, w.session("overloaded").Blocked)
		w.stop()
	})
}

// A probe that hangs says nothing about the account: the others wait for it no longer than settle, each
// with the next one, and the account says for whom they wait.
func TestAProbeThatHangsHoldsTheOthersBackForSettleOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Stagger, rules.Settle = 10, time.Second, 3*time.Minute
		w := newWorld(t, rules, works)
		start := time.Now()
		for _, id := range []string{"s1", "s2", "s3"} {
			w.seeShared(id, limitedUntil(start, limit.RateLimit, start.Add(10*time.Second)))
		}
		time.Sleep(time.Minute)
		require.Len(t, w.started(), 1)
		require.Equal(t, resume.Because(resume.WhyOneByOne), w.session("s2").Reason)
		probe := w.account().Probe
		require.Equal(t, "s1", probe.Session)
		require.Equal(t, w.started()[0], probe.Since.Sub(start))
		require.Equal(t, rules.Settle, probe.Until.Sub(probe.Since))

		time.Sleep(9 * time.Minute)
		began := w.started()
		require.Len(t, began, 3, "one after the other")
		require.Equal(t, []time.Duration{rules.Settle, rules.Settle}, []time.Duration{began[1] - began[0], began[2] - began[1]})
		require.Nil(t, w.account().Probe, "the last one is not alone any more")
		require.Equal(t, resume.HalfOpen, w.account().State, "it is still not known whether the limit is over")
		w.stop()
	})
}
