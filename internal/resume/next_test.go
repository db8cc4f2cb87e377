package resume

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
	"resumed/internal/limit"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// half is the random number that adds no jitter to a symmetric policy.
const half = 0.5

// defaultRules are those of a user without own settings.
func defaultRules() Rules {
	return Rules{
		Backoff:       backoff.Default(),
		Margin:        time.Minute,
		MaxWait:       192 * time.Hour,
		Settle:        2 * time.Minute,
		Lookback:      6 * time.Hour,
		MaxWindows:    8,
		MaxConcurrent: 2,
		Stagger:       20 * time.Second,
		Order:         Oldest,
	}
}

// walk applies events to one session at given times.
type walk struct {
	Session
	rules Rules
	now   time.Time
}

func newWalk() *walk {
	return &walk{
		Session: Session{Key: Key{"claude-code", "4f2a"}, Cwd: "/src/shop"},
		rules:   defaultRules(),
		now:     noon,
	}
}

func (w *walk) after(d time.Duration) *walk { w.now = w.now.Add(d); return w }

func (w *walk) do(events ...Event) *walk {
	for _, ev := range events {
		w.Session = w.Next(ev, w.rules, w.now, half)
	}
	return w
}

// resume lets the wait end and the command start.
func (w *walk) resume() *walk {
	if w.now.Before(w.NextAt) {
		w.now = w.NextAt
	}
	mark := fmt.Sprintf("m%d", w.Runs+1)
	return w.do(Due{Mark: mark}, Started{Mark: mark, Process: Process{PID: 7, Start: 1}})
}

func (w *walk) end(how Outcome) *walk {
	return w.do(Ended{Mark: w.Run.Mark, Outcome: how, Err: "exit status 1"})
}

func limited(at time.Time, c limit.Class) Limited {
	return Limited{At: at, Verdict: limit.Verdict{Class: c, WaitHelps: c.Transient()}, Text: "try later"}
}

func limitedUntil(at time.Time, c limit.Class, reset time.Time) Limited {
	ev := limited(at, c)
	ev.Reset = limit.Reset{At: reset, Source: limit.Structured}
	return ev
}

func TestWaitsGrowAndThenItGivesUp(t *testing.T) {
	w := newWalk().do(limited(noon, limit.RateLimit))
	var waits []time.Duration
	for w.State == Waiting {
		waits = append(waits, w.NextAt.Sub(w.now))
		w.resume().after(time.Second).end(Failed)
	}
	require.Equal(t, []time.Duration{
		30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute,
	}, waits)
	require.Equal(t, GaveUp, w.State)
	require.Len(t, w.Attempts, 5, "the notice shows all of them")
	require.Equal(t, Reason{Kind: WhyGaveUp, N: 5}, w.Reason)
	require.Equal(t, 4*time.Minute, w.Attempts[3].Delay)
	require.Equal(t, Failed, w.Attempts[4].Outcome)
}

func TestServersWordWins(t *testing.T) {
	reset := noon.Add(2 * time.Hour)
	cases := map[string]struct {
		ev   Limited
		want time.Duration
	}{
		"a usage limit's reset, with margin":      {limitedUntil(noon, limit.UsageLimit, reset), 2*time.Hour + time.Minute},
		"a plain retry-after, without":            {limitedUntil(noon, limit.RateLimit, noon.Add(2*time.Second)), 2 * time.Second},
		"a short one beats a longer backoff":      {limitedUntil(noon, limit.RateLimit, noon.Add(time.Second)), time.Second},
		"a usage limit's reset that just passed":  {limitedUntil(noon, limit.UsageLimit, noon.Add(-10*time.Second)), 50 * time.Second},
		"one that passed long ago is due at once": {limitedUntil(noon, limit.UsageLimit, noon.Add(-time.Hour)), -59 * time.Minute},
		"no stated time: backoff":                 {limited(noon, limit.UsageLimit), 30 * time.Second},
	}
	rough := limitedUntil(noon, limit.RateLimit, reset)
	rough.Reset.Rough = true
	cases["a clock time, with margin"] = struct {
		ev   Limited
		want time.Duration
	}{rough, 2*time.Hour + time.Minute}

	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWalk().do(c.ev)
			require.Equal(t, Waiting, w.State)
			require.Equal(t, c.want, w.NextAt.Sub(noon))
		})
	}
}

func TestResetThatProvedWrongGivesWayToBackoff(t *testing.T) {
	past := limitedUntil(noon, limit.UsageLimit, noon.Add(-time.Hour))
	w := newWalk().do(past).resume().after(time.Second)
	again := past
	again.At = w.now
	w.do(again).end(Failed)
	require.Equal(t, Waiting, w.State)
	require.Equal(t, time.Minute, w.NextAt.Sub(again.At), "the second wait of the policy, not a hot loop")
	require.Equal(t, LimitedOut, w.Attempts[0].Outcome)
}

func TestWaitingForAStatedResetIsNotAnAttempt(t *testing.T) {
	w := newWalk().do(limitedUntil(noon, limit.UsageLimit, noon.Add(5*time.Hour)))
	require.Empty(t, w.Attempts)
	w.resume()
	require.Len(t, w.Attempts, 1)
}

func TestMovementForgivesAttempts(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded)).resume().end(Failed).resume().end(Failed).resume()
	require.Len(t, w.Attempts, 3)
	w.do(Progressed{At: w.now})
	require.Equal(t, Watching, w.State)
	require.Empty(t, w.Attempts)
	require.Equal(t, Recovered, w.Past[2].Outcome)
	require.NotNil(t, w.Run, "the command still runs")

	w.end(Delivered)
	require.Equal(t, Watching, w.State)
	require.Nil(t, w.Run)
	w.do(limited(w.now, limit.Overloaded))
	require.Equal(t, 30*time.Second, w.NextAt.Sub(w.now), "the count starts over")
}

func TestExitZeroIsNotSuccess(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded)).resume().end(Delivered)
	require.Equal(t, Settling, w.State)
	require.Equal(t, 2*time.Minute, w.NextAt.Sub(w.now))

	w.do(Prompted{At: w.now})
	require.Equal(t, Settling, w.State, "our own prompt is not movement")

	w.after(2 * time.Minute).do(Due{})
	require.Equal(t, Waiting, w.State)
	require.Equal(t, NoProgress, w.Attempts[0].Outcome)
	require.Equal(t, time.Minute, w.NextAt.Sub(w.now))
}

func TestLimitMetAgainCountsOnce(t *testing.T) {
	for name, order := range map[string][]int{"record first": {0, 1}, "exit first": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			w := newWalk().do(limited(noon, limit.RateLimit)).resume().after(time.Second)
			reset := w.now.Add(time.Hour)
			steps := []Event{limitedUntil(w.now, limit.UsageLimit, reset), Ended{Mark: w.Run.Mark, Outcome: Failed, Err: "exit status 1"}}
			for _, i := range order {
				w.do(steps[i])
			}
			require.Equal(t, Waiting, w.State)
			require.Equal(t, reset.Add(time.Minute), w.NextAt)
			require.Len(t, w.Attempts, 1)
			require.Equal(t, LimitedOut, w.Attempts[0].Outcome)
			require.Nil(t, w.Run)
		})
	}
}

func TestGivingUpIsForTheLateRecordOfTheLastAttemptToo(t *testing.T) {
	w := newWalk()
	w.rules.Backoff.MaxRetries = 1
	w.do(limited(noon, limit.RateLimit)).resume().after(time.Second).end(Failed)
	require.Equal(t, GaveUp, w.State)
	w.do(limited(w.now, limit.RateLimit))
	require.Equal(t, GaveUp, w.State)
	require.Equal(t, LimitedOut, w.Attempts[0].Outcome)
}

func TestRepeatedRefusalDoesNotPushTheWake(t *testing.T) {
	w := newWalk().do(limited(noon, limit.RateLimit))
	due := w.NextAt
	for range 5 {
		w.after(5 * time.Second).do(limited(w.now, limit.RateLimit))
	}
	require.Equal(t, due, w.NextAt)

	reset := noon.Add(time.Hour)
	w.do(limitedUntil(w.now, limit.UsageLimit, reset))
	require.Equal(t, reset.Add(time.Minute), w.NextAt, "a stated time is news")
}

func TestWaitingCannotHelp(t *testing.T) {
	overage := limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour))
	overage.WaitHelps = false
	for name, ev := range map[string]Limited{
		"logged out":         limited(noon, limit.Auth),
		"no credits":         limited(noon, limit.Billing),
		"context too long":   limited(noon, limit.ContextOverflow),
		"refused":            limited(noon, limit.BadRequest),
		"spend cap":          overage,
		"reset too far away": limitedUntil(noon, limit.UsageLimit, noon.Add(193*time.Hour)),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWalk().do(ev)
			require.Equal(t, Parked, w.State)
			require.NotEmpty(t, w.Reason)
			require.True(t, w.Deadline().IsZero())
		})
	}
}

func TestWindowsWithoutAPersonAreBounded(t *testing.T) {
	w := newWalk()
	w.rules.MaxWindows = 2
	window := func() {
		w.do(limitedUntil(w.now, limit.UsageLimit, w.now.Add(5*time.Hour)))
	}
	for range 2 {
		window()
		require.Equal(t, Waiting, w.State)
		w.resume().do(Progressed{At: w.now}).end(Delivered).after(time.Hour)
	}
	window()
	require.Equal(t, Parked, w.State)

	w.do(Prompted{At: w.now}).after(time.Hour)
	window()
	require.Equal(t, Waiting, w.State, "a person's prompt starts the count over")
	require.Equal(t, 1, w.Windows)
}

func TestOneWindowIsCountedOnceHoweverItIsStated(t *testing.T) {
	w := newWalk()
	w.rules.MaxWindows = 1
	reset := noon.Add(5 * time.Hour)
	w.do(limitedUntil(noon, limit.UsageLimit, reset)).after(time.Minute)
	w.do(limitedUntil(w.now, limit.UsageLimit, reset.Add(time.Second)))
	require.Equal(t, Waiting, w.State, "agents print it to the minute, or compute it from an age")
	w.after(time.Minute).do(limitedUntil(w.now, limit.UsageLimit, reset.Add(time.Hour)))
	require.Equal(t, Parked, w.State)
}

func TestPeopleAreStrongerThanRules(t *testing.T) {
	t.Run("a cancelled turn is never resumed", func(t *testing.T) {
		w := newWalk().do(limited(noon, limit.RateLimit), Cancelled{At: noon})
		require.Equal(t, Watching, w.State)
		require.True(t, w.Deadline().IsZero())
	})
	t.Run("a person's prompt ends the wait", func(t *testing.T) {
		w := newWalk().do(limited(noon, limit.RateLimit)).after(time.Second)
		w.do(Prompted{At: w.now})
		require.Equal(t, Watching, w.State)
		require.Equal(t, Because(WhyContinued), w.Reason)
	})
	t.Run("a prompt of another program ends the wait and begins no count anew", func(t *testing.T) {
		w := newWalk().do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour))).after(time.Second)
		windows := w.Windows
		require.Positive(t, windows)
		w.do(Prompted{At: w.now, By: "another resumed"})
		require.Equal(t, Watching, w.State)
		require.Equal(t, Reason{Kind: WhyContinued, By: "another resumed"}, w.Reason)
		require.Equal(t, windows, w.Windows)
	})
	t.Run("a prompt long after our attempt is a person's", func(t *testing.T) {
		w := newWalk()
		w.rules.Backoff.MaxRetries = 1
		w.do(limited(noon, limit.RateLimit)).resume().after(time.Second).end(Failed)
		w.do(Prompted{At: w.now.Add(-time.Second / 2)})
		require.Equal(t, GaveUp, w.State, "that one was ours, read late")
		w.after(time.Hour).do(Prompted{At: w.now})
		require.Equal(t, Watching, w.State)
	})
	t.Run("retry revives and forgives", func(t *testing.T) {
		w := newWalk()
		w.rules.Backoff.MaxRetries = 1
		w.do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour))).resume().end(Failed)
		require.Equal(t, GaveUp, w.State)
		w.do(Retry{})
		require.Equal(t, Waiting, w.State)
		require.Equal(t, w.now, w.NextAt)
		require.Empty(t, w.Attempts)
		w.do(Reconsider{}, limited(w.now, limit.RateLimit))
		require.Equal(t, w.now, w.NextAt, "the order stands")
	})
	t.Run("an order that could not be carried out yet stands", func(t *testing.T) {
		w := newWalk().do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour)), Retry{})
		w.do(Due{Mark: "a"}, NotSent{Mark: "a", Why: "a person works there"}, Reconsider{})
		require.Equal(t, time.Minute, w.NextAt.Sub(w.now), "not an hour")
		require.Equal(t, Reason{Kind: WhyNotSent, Text: "a person works there"}, w.Reason)
		w.resume().end(Failed)
		require.Equal(t, noon.Add(time.Hour+time.Minute), w.NextAt, "one try was asked for")
	})
	t.Run("retry of what needs none changes nothing", func(t *testing.T) {
		w := newWalk().do(limited(noon, limit.RateLimit)).resume()
		before := w.Session
		require.Equal(t, before, w.do(Retry{}).Session)
	})
	t.Run("forget drops this interruption, not the next", func(t *testing.T) {
		w := newWalk().do(limited(noon, limit.RateLimit), Forget{})
		require.Equal(t, Watching, w.State)
		w.after(time.Minute).do(limited(w.now, limit.RateLimit))
		require.Equal(t, Waiting, w.State)
	})
	t.Run("paused sessions keep their wait", func(t *testing.T) {
		w := newWalk().do(limited(noon, limit.RateLimit), Pause{})
		require.True(t, w.Deadline().IsZero())
		w.after(time.Hour).do(Due{Mark: "x"})
		require.Equal(t, Waiting, w.State)
		w.do(Unpause{})
		require.Equal(t, noon.Add(30*time.Second), w.Deadline())
	})
}

func TestHeldResumesCostNoAttempt(t *testing.T) {
	w := newWalk().do(limited(noon, limit.RateLimit))
	w.after(30*time.Second).do(Due{Mark: "a"}, NotSent{Mark: "a", Why: "a person works there"})
	require.Equal(t, Waiting, w.State)
	require.Empty(t, w.Attempts)
	require.Equal(t, time.Minute, w.NextAt.Sub(w.now))
	require.Equal(t, Reason{Kind: WhyNotSent, Text: "a person works there"}, w.Reason)

	w.after(time.Minute).do(Due{Mark: "b"})
	require.NotEqual(t, WhyNotSent, w.Reason.Kind, "what held it does so no more")
	w.do(NotSent{Mark: "b", Why: "claude was not found", Then: Park})
	require.Equal(t, Parked, w.State)
	require.Empty(t, w.Attempts)
}

func TestLostResumeIsSentAgain(t *testing.T) {
	w := newWalk().do(limited(noon, limit.RateLimit)).resume()
	w.after(time.Minute).do(Lost{Mark: w.Run.Mark})
	require.Equal(t, Waiting, w.State)
	require.False(t, w.Deadline().After(w.now), "due now")
	require.Empty(t, w.Attempts, "being cut off is not a failed attempt")
	require.Len(t, w.Cut, 1, "but a prompt that it left is known as ours")
	require.Equal(t, DaemonStopped, w.Cut[0].Outcome)
	require.True(t, w.Cut[0].EndedAt.Equal(w.now))
	w.do(Progressed{At: w.now})
	require.Empty(t, w.Cut)
}

func TestAnOrderForTheNextResumeOutlivesTheOneBefore(t *testing.T) {
	for name, late := range map[string]func(mark string) Event{
		"when it ends":     func(mark string) Event { return Ended{Mark: mark, Outcome: Failed} },
		"when it is found": func(mark string) Event { return Started{Mark: mark, Process: Process{PID: 7}} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWalk().do(limited(noon, limit.RateLimit)).resume()
			mark := w.Run.Mark
			w.do(Started{Mark: mark, Process: Process{PID: 7}}).after(time.Minute)
			w.do(limitedUntil(w.now, limit.UsageLimit, w.now.Add(time.Hour)))
			w.do(Retry{}).do(late(mark)).do(Reconsider{})
			require.False(t, w.NextAt.After(w.now), "a person asked for it now")
		})
	}
}

func TestResumesThatEndedWithADaemonAreRememberedToABound(t *testing.T) {
	w := newWalk().do(limited(noon, limit.RateLimit))
	for range 2 * maxCut {
		w.resume()
		w.after(time.Minute).do(Lost{Mark: w.Run.Mark})
	}
	require.Len(t, w.Cut, maxCut)
	require.True(t, w.Cut[maxCut-1].EndedAt.Equal(w.now), "the newest")
}

func TestNewsBeforeSendingWithdrawsTheResume(t *testing.T) {
	w := newWalk().do(limited(noon, limit.RateLimit)).after(30 * time.Second)
	w.do(Due{Mark: "a"})
	reset := w.now.Add(time.Hour)
	w.do(limitedUntil(w.now, limit.UsageLimit, reset))
	require.Equal(t, Waiting, w.State)
	require.Empty(t, w.Attempts)
	require.Nil(t, w.Run)

	w.after(2*time.Hour).do(Due{Mark: "b"}, Progressed{At: w.now})
	require.Equal(t, Watching, w.State)
	require.Nil(t, w.Run, "nothing was sent, and nothing need be")
}

// A command may be quick: its records are read before its pid is known.
func TestNewsAfterSendingIsTheResumesOwn(t *testing.T) {
	w := newWalk().do(limited(noon, limit.RateLimit)).after(30 * time.Second)
	w.do(Due{Mark: "a"}, Sending{Mark: "a"}, limited(w.now, limit.RateLimit))
	require.Equal(t, Waiting, w.State)
	require.Len(t, w.Attempts, 1, "it counts")
	require.Equal(t, LimitedOut, w.Attempts[0].Outcome)
	require.NotNil(t, w.Run)
	w.do(Started{Mark: "a", Process: Process{PID: 7}}, Ended{Mark: "a", Outcome: Failed})
	require.Nil(t, w.Run)
	require.Equal(t, time.Minute, w.NextAt.Sub(w.Attempts[0].StartedAt))
}

func TestOldNewsOfASentResumeChangesNothing(t *testing.T) {
	w := newWalk().do(limited(noon, limit.RateLimit)).resume()
	before := w.Session
	w.do(limited(noon.Add(time.Second), limit.RateLimit))
	require.Equal(t, before, w.Session)
}

// A daemon that is killed between its claim and the command leaves a resume that the next daemon must
// treat as sent, until it knows better.
func TestOldNewsCountsWhereTheResumeWasNeverSent(t *testing.T) {
	w := newWalk().do(limited(noon, limit.RateLimit)).after(30 * time.Second).do(Due{Mark: "a"})
	w.Session = w.Session.Restore()
	reset := noon.Add(time.Hour)
	w.do(limitedUntil(noon.Add(10*time.Second), limit.UsageLimit, reset))
	require.Equal(t, Resuming, w.State)
	w.do(Lost{Mark: "a"})
	require.Equal(t, Waiting, w.State)
	require.Equal(t, reset.Add(w.rules.Margin), w.NextAt, "nothing before a stated reset")
}

// A person's order is carried out when its command was sent, even if the command meets a limit before
// its start is known.
func TestAnOrderIsCarriedOutOnce(t *testing.T) {
	w := newWalk().do(limited(noon, limit.RateLimit), Retry{}, Due{Mark: "a"}, Sending{Mark: "a"})
	reset := w.now.Add(time.Hour)
	w.do(limitedUntil(w.now, limit.UsageLimit, reset), Started{Mark: "a", Process: Process{PID: 7}}, Ended{Mark: "a", Outcome: Failed})
	require.Equal(t, reset.Add(w.rules.Margin), w.NextAt, "nothing before a stated reset")
}

// A session that only a person's word continues is parked at each stop, also after a resume that did not help.
func TestEachResumeNeedsAWordOfItsOwn(t *testing.T) {
	stopped := func(at time.Time) Limited {
		ev := limitedUntil(at, limit.UsageLimit, at.Add(time.Hour))
		ev.AtWord = "nobody has tried it"
		return ev
	}
	w := newWalk().do(stopped(noon))
	require.Equal(t, Parked, w.State)
	require.Equal(t, inWordsOf(WhyUntried, "nobody has tried it"), w.Reason)
	w.after(time.Minute).do(Retry{})
	require.Equal(t, Waiting, w.State)
	require.Equal(t, w.now, w.NextAt)
	w.do(Due{Mark: "a"}, Sending{Mark: "a"}, Started{Mark: "a", Process: Process{PID: 7}}, Ended{Mark: "a", Outcome: Failed, Err: "exit status 1"})
	require.Equal(t, Parked, w.State, "it is not tried again")
	w.do(Retry{}).resume().after(time.Second).end(Delivered).do(Progressed{At: w.now})
	require.Equal(t, Watching, w.State)
	w.after(time.Minute).do(stopped(w.now))
	require.Equal(t, Parked, w.State)
	w.do(limited(w.now.Add(time.Second), limit.RateLimit))
	require.Equal(t, Waiting, w.State, "it is said of each stop")
}

// A prompt that a live process refuses was not sent: the person's order still holds.
func TestAnOrderStandsUntilItIsCarriedOut(t *testing.T) {
	reset := noon.Add(time.Hour)
	w := newWalk().do(limitedUntil(noon, limit.UsageLimit, reset), Retry{}, Due{Mark: "a"})
	w.do(Started{Mark: "a", Process: Process{PID: 7}, Unverifiable: true}, NotSent{Mark: "a", Why: "it does not listen"})
	require.Equal(t, Waiting, w.State)
	require.True(t, w.NextAt.Before(reset), "at the next look, not at the reset")
}

// A person's order does not cover what the person could not know: it ends with the answer.
func TestAnOrderThatWasAnsweredDoesNotStand(t *testing.T) {
	reset := noon.Add(time.Hour)
	w := newWalk().do(limitedUntil(noon, limit.UsageLimit, reset), Retry{}, Due{Mark: "a"}, NotSent{Mark: "a", Why: "another machine looks after it", Then: NeedsOrder})
	require.Equal(t, Waiting, w.State)
	require.Zero(t, w.RetryAskedAt)
	require.Equal(t, reset.Add(w.rules.Margin), w.NextAt)
}

func TestReloadComputesTheWaitAnew(t *testing.T) {
	w := newWalk().do(limited(noon, limit.RateLimit))
	w.rules.Backoff.BaseDelay = 10 * time.Minute
	w.rules.Backoff.MaxDelay = time.Hour
	w.do(Reconsider{})
	require.Equal(t, 10*time.Minute, w.NextAt.Sub(noon))

	w.rules.ByClass = map[limit.Class]Policy{limit.RateLimit: {Policy: backoff.Policy{Strategy: backoff.Fixed, BaseDelay: time.Second, MaxDelay: time.Second, MaxRetries: 1}}}
	w.do(Reconsider{})
	require.Equal(t, time.Second, w.NextAt.Sub(noon))

	w.rules.ByAgent = map[string]Policy{"claude-code": {Policy: backoff.Policy{Strategy: backoff.Fixed, BaseDelay: time.Hour, MaxDelay: time.Hour, MaxRetries: 1}}}
	w.do(Reconsider{})
	require.Equal(t, time.Hour, w.NextAt.Sub(noon), "the agent's policy wins over the class's")

	w.rules.Exclude = []string{"/src"}
	w.do(Reconsider{})
	require.Equal(t, Watching, w.State)

	s := newWalk().do(limited(noon, limit.RateLimit)).resume().end(Delivered)
	s.rules.Settle = time.Hour
	s.do(Reconsider{})
	require.Equal(t, time.Hour, s.NextAt.Sub(s.now))
}

func TestDirectories(t *testing.T) {
	rules := Rules{Include: []string{"/src"}, Exclude: []string{"/src/private"}}
	for dir, touched := range map[string]bool{
		"/src": true, "/src/shop": true, "/srcs": false, "/home": false,
		"/src/private": false, "/src/private/x": false, "/src/privateer": true, "": false,
	} {
		require.Equal(t, touched, !rules.Excludes(dir), dir)
	}
	require.Empty(t, Rules{}.Excluded("/anywhere"))
	require.NotEmpty(t, Rules{Exclude: []string{"/"}}.Excluded("/anywhere"))
}

func TestHoursShiftTheWake(t *testing.T) {
	evening := time.Date(2026, 11, 15, 22, 0, 0, 0, time.UTC)
	w := newWalk()
	w.rules.NextAllowed = func(at time.Time) time.Time { return Later(at, evening) }
	w.do(limited(noon, limit.RateLimit))
	require.Equal(t, evening, w.NextAt)
}

func TestOldInterruptionsAreNotAdoptedAtFirstSight(t *testing.T) {
	old := noon.Add(-7 * time.Hour)
	for name, c := range map[string]struct {
		ev   Limited
		want State
	}{
		"old, no reset":         {limited(old, limit.RateLimit), Watching},
		"old, old reset":        {limitedUntil(old, limit.UsageLimit, old), Watching},
		"old, its reset is not": {limitedUntil(old, limit.UsageLimit, noon.Add(-time.Hour)), Waiting},
		"young":                 {limited(noon.Add(-time.Hour), limit.RateLimit), Waiting},
	} {
		t.Run(name, func(t *testing.T) {
			c.ev.First = true
			require.Equal(t, c.want, newWalk().do(c.ev).State)
			c.ev.First = false
			require.Equal(t, Waiting, newWalk().do(c.ev).State, "a line that was appended counts, however late it is read")
		})
	}
}

func TestRefusalsThatAreNone(t *testing.T) {
	inProgress := limited(noon, limit.Overloaded)
	inProgress.InProgress = true
	for name, ev := range map[string]Limited{
		"the agent retries by itself": inProgress,
		"nothing was refused":         limited(noon, limit.None),
		"a person cancelled":          limited(noon, limit.Cancelled),
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, Watching, newWalk().do(ev).State)
		})
	}
}

func TestClockThatRunsAheadDoesNotProlongTheWait(t *testing.T) {
	w := newWalk().do(limited(noon.Add(time.Hour), limit.RateLimit))
	require.Equal(t, 30*time.Second, w.NextAt.Sub(noon))
}

// Invariants for all events in any order.
func TestInvariantsOverRandomWalks(t *testing.T) {
	for seed := range uint64(3000) {
		dice := rand.New(rand.NewPCG(seed, 1))
		w := newWalk()
		w.rules.Silent, w.rules.CutOff = 20*time.Minute, TellCutOff
		if seed%2 == 0 {
			w.rules.CutOff = ResumeCutOff
		}
		for step := range 60 {
			w.after(time.Duration(dice.Int64N(int64(3 * time.Minute))))
			before := w.Session
			ev := randomEvent(dice, w)
			w.Session = w.Next(ev, w.rules, w.now, dice.Float64())
			where := fmt.Sprintf("seed %d step %d: %T", seed, step, ev)

			require.LessOrEqual(t, len(w.Attempts), w.rules.Backoff.MaxRetries, where)
			if w.State == Resuming {
				require.NotNil(t, w.Run, where)
			}
			if w.Run != nil && before.Run == nil {
				require.IsType(t, Due{}, ev, where)
				require.Equal(t, Waiting, before.State, where)
				require.False(t, w.now.Before(before.NextAt), where)
				if reset := before.Limit.Reset.At; len(before.Attempts) == 0 && before.RetryAskedAt.IsZero() {
					require.False(t, w.now.Before(reset), "resumed before the stated time: "+where)
				}
			}
			if before.Run != nil && w.Run != nil {
				require.Equal(t, before.Run.Mark, w.Run.Mark, "two resumes at once: "+where)
			}
			if w.State == Waiting {
				require.False(t, w.NextAt.IsZero(), "a lost wait: "+where)
			}
			if w.State == Watching {
				require.Empty(t, w.Attempts, where)
				require.True(t, w.NextAt.IsZero(), where)
			}
		}
	}
}

func randomEvent(dice *rand.Rand, w *walk) Event {
	at := w.now.Add(-time.Duration(dice.Int64N(int64(10 * time.Second))))
	mark := "none"
	if w.Run != nil {
		mark = w.Run.Mark
	}
	events := []Event{
		limited(at, limit.Overloaded),
		limitedUntil(at, limit.UsageLimit, at.Add(time.Duration(dice.Int64N(int64(10*time.Minute))))),
		limited(at, limit.Auth),
		Progressed{At: at},
		Prompted{At: at},
		Cancelled{At: at},
		Due{Mark: fmt.Sprint(dice.Uint32())},
		Due{Mark: fmt.Sprint(dice.Uint32())},
		Due{Mark: fmt.Sprint(dice.Uint32())},
		Started{Mark: mark, Process: Process{PID: 1, Start: 1}},
		Ended{Mark: mark, Outcome: Delivered},
		Ended{Mark: mark, Outcome: Failed},
		Ended{Mark: mark, Outcome: TimedOut},
		NotSent{Mark: mark, Why: "why"},
		NotSent{Mark: mark, Why: "why", Then: Park},
		Lost{Mark: mark},
		Retry{},
		Forget{},
		Pause{},
		Unpause{},
		Reconsider{},
		HeldBack{Why: Because(WhyHours)},
		Learned{Origin: &Origin{Process: own, SeenAt: w.now}},
		Died{Process: own, At: at, How: End(dice.IntN(4))},
		Died{Process: own, At: at, How: End(dice.IntN(4))},
		Silent{Owner: Owner{PID: own.PID}},
		Released{},
	}
	return events[dice.IntN(len(events))]
}

// The last failure comes first in the reason: a limit from hours before does not help to fix what fails
// now.
