package resume

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// What calls a person has one name, whatever is read or set after it.
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
		require.NotEmpty(t, s.Call, name)
		require.Equal(t, s.Call, play(s, c.more, c.more).Call, name)
		require.Equal(t, s.Call, s.Next(Rewound{}, rules, now.AddDate(-3, 0, 0), 0.5).Call, name)

		moved := play(s, Progressed{At: now.Add(10 * time.Minute)})
		require.Empty(t, moved.Call, name)
		again := play(moved, c.events...)
		require.Equal(t, c.state, again.State, name)
		require.NotEqual(t, s.Call, again.Call, name)
		require.NotEmpty(t, again.Call, name)
	}
}

// Two steps that call a person have two names, also where the session stands as it
// stood before: what a restart takes for told is never told.
func TestEachCallHasANameOfItsOwn(t *testing.T) {
	held := NotSent{Mark: "1", Why: "nobody can see", Then: Tell}
	parked := NotSent{Mark: "2", Why: "nobody can go on", Then: Park}
	again := NotSent{Mark: "3", Why: "nobody can go on", Then: Park}
	w := newWalk().do(limited(noon, limit.RateLimit)).after(time.Minute).do(Due{Mark: "1"}, held)
	names := []string{w.Call}
	w.after(time.Hour).do(Due{Mark: "2"}, parked)
	names = append(names, w.Call)
	w.after(time.Hour).do(Retry{})
	require.Empty(t, w.Call)
	w.do(Due{Mark: "3"}, again)
	names = append(names, w.Call)
	require.Equal(t, Parked, w.State)
	slices.Sort(names)
	require.Len(t, slices.Compact(names), 3)

	w = newWalk().do(limited(noon, limit.RateLimit), Occupied{Owner: Owner{PID: 7}, Unreached: "no", Tell: true})
	first := w.Call
	w.do(Released{}, Occupied{Owner: Owner{PID: 8}, Unreached: "no", Tell: true})
	require.NotEqual(t, first, w.Call)

	w = newWalk().do(limited(noon, limit.RateLimit)).after(time.Minute).do(Due{Mark: "1"}, held)
	first = w.Call
	w.do(Occupied{Owner: Owner{PID: 7}}, Released{})
	require.Empty(t, w.Call, "it may be continued")
	held.Mark = "5"
	w.after(time.Hour).do(Due{Mark: "5"}, held)
	require.NotEmpty(t, w.Call)
	require.NotEqual(t, first, w.Call, "out of sight once more")

	w.do(Retry{}, Due{Mark: "4"})
	require.False(t, w.Told, "a person who orders it is told again where it is held")
}
