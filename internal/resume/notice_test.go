package resume

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// A notice has one id, whatever is read or set after it.
func TestACallKeepsItsNameUntilItIsOver(t *testing.T) {
	rules := defaultRules()
	rules.Backoff.MaxRetries, rules.Backoff.Jitter = 1, false
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	limited := Limited{Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true}, Text: "slow down"}
	hopeless := Limited{Verdict: limit.Verdict{Class: limit.Billing}, Text: "no money"}
	resumed := []Event{Due{Mark: "1"}, Started{Mark: "1"}, Ended{Mark: "1", Outcome: Failed}}

	play := func(s Session, events ...Event) Session {
		for _, ev := range events {
			now = now.Add(10 * time.Minute)
			if l, ok := ev.(Limited); ok {
				l.At = now
				ev = l
			}
			s = s.Next(ev, rules, now, 0.5)
		}
		return s
	}
	for name, c := range map[string]struct {
		events []Event
		state  State
		more   Limited
	}{
		"gave up": {append([]Event{limited}, resumed...), GaveUp, limited},
		"parked":  {[]Event{hopeless}, Parked, hopeless},
	} {
		s := play(Session{}, c.events...)
		require.Equal(t, c.state, s.State, name)
		require.NotEmpty(t, s.NoticeID, name)
		require.Equal(t, 1, s.NoticeCount, name)
		require.Equal(t, s.NoticeID, play(s, c.more, c.more).NoticeID, name)
		require.Equal(t, s.NoticeID, s.Next(Rewound{}, rules, now.AddDate(-3, 0, 0), 0.5).NoticeID, name)

		moved := play(s, Progressed{At: now.Add(10 * time.Minute)})
		require.Empty(t, moved.NoticeID, name)
		again := play(moved, c.events...)
		require.Equal(t, c.state, again.State, name)
		require.NotEqual(t, s.NoticeID, again.NoticeID, name)
		require.NotEmpty(t, again.NoticeID, name)
	}
}

// Two notices have different ids, even if the session is in the same state as before: a restart skips
// an id that was already reported.
func TestEachCallHasANameOfItsOwn(t *testing.T) {
	held := NotSent{Mark: "1", Why: "nobody can see", Then: Tell}
	parked := NotSent{Mark: "2", Why: "nobody can go on", Then: Park}
	again := NotSent{Mark: "3", Why: "nobody can go on", Then: Park}
	w := newWalk().do(limited(noon, limit.RateLimit)).after(time.Minute).do(Due{Mark: "1"}, held)
	names := []string{w.NoticeID}
	w.after(time.Hour).do(Due{Mark: "2"}, parked)
	names = append(names, w.NoticeID)
	w.after(time.Hour).do(Retry{})
	require.Empty(t, w.NoticeID)
	w.do(Due{Mark: "3"}, again)
	names = append(names, w.NoticeID)
	require.Equal(t, Parked, w.State)
	slices.Sort(names)
	require.Len(t, slices.Compact(names), 3)

	w = newWalk().do(limited(noon, limit.RateLimit), Occupied{Owner: Owner{PID: 7}, Unreached: "no", Tell: true})
	first := w.NoticeID
	w.do(Released{}, Occupied{Owner: Owner{PID: 8}, Unreached: "no", Tell: true})
	require.NotEqual(t, first, w.NoticeID)

	w = newWalk().do(limited(noon, limit.RateLimit)).after(time.Minute).do(Due{Mark: "1"}, held)
	first = w.NoticeID
	w.do(Occupied{Owner: Owner{PID: 7}}, Released{})
	require.Empty(t, w.NoticeID, "it may be continued")
	held.Mark = "5"
	w.after(time.Hour).do(Due{Mark: "5"}, held)
	require.NotEmpty(t, w.NoticeID)
	require.NotEqual(t, first, w.NoticeID, "out of sight once more")

	w.do(Retry{}, Due{Mark: "4"})
	require.False(t, w.Reported, "a person who orders it is told again where it is held")
}

// A person is told when the interruption began, whatever was refused or asked for since.
func TestAnInterruptionBeganWithItsFirstRefusal(t *testing.T) {
	w := newWalk().do(limited(noon, limit.RateLimit))
	for w.State == Waiting {
		w.resume().after(time.Minute).do(limited(w.now, limit.RateLimit)).end(Failed)
	}
	require.Equal(t, GaveUp, w.State)
	require.Equal(t, noon, w.InterruptedAt)
	require.True(t, w.LimitedAt.After(noon))
	w.do(Retry{})
	require.Equal(t, noon, w.InterruptedAt)
	w.do(Progressed{At: w.now})
	require.Zero(t, w.InterruptedAt)
}
