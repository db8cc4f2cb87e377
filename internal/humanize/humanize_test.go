package humanize

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// noon is a Sunday.
var noon = time.Date(2026, 11, 15, 13, 13, 0, 0, time.UTC)

func utc(t *testing.T) {
	before := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = before })
}

func TestDurations(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": -time.Hour, "40s": 40 * time.Second, "1m 0s": 59600 * time.Millisecond, "5m 7s": 5*time.Minute + 7*time.Second,
		"1h 47m": 107 * time.Minute, "2d 4h": 52 * time.Hour,
	} {
		require.Equal(t, want, Span(d))
	}
	for want, d := range map[string]time.Duration{
		"0s": 0, "250ms": 250 * time.Millisecond, "2m": 2 * time.Minute, "1h": time.Hour, "1h0m5s": time.Hour + 5*time.Second,
		"10m": 10 * time.Minute, "192h": 192 * time.Hour, "90d": 90 * 24 * time.Hour,
	} {
		require.Equal(t, want, Duration(d))
	}
	require.Equal(t, "30.4s", Seconds(30.4))
	require.Equal(t, "2m5s", Seconds(125.2))
	require.Equal(t, "123µs", Seconds(0.0001234))
	require.Equal(t, "centuries", Seconds(1e12))
}

func TestTimes(t *testing.T) {
	utc(t)
	for want, at := range map[string]time.Time{
		"due now": noon.Add(-time.Second), "in 1h 47m, 15:00": noon.Add(107 * time.Minute), "in 12h 0m, Mon 01:13": noon.Add(12 * time.Hour),
		"in 2d 3h, Tue 16:13": noon.Add(51 * time.Hour), "in 10d 0h, 25 Nov 13:13": noon.AddDate(0, 0, 10), "in 60d 0h, 14 Jan 2027": noon.AddDate(0, 0, 60),
	} {
		require.Equal(t, want, Until(at, noon))
	}
	require.Equal(t, "13:13:07", Clock(noon.Add(7*time.Second), noon))
	require.Equal(t, "14 Nov 13:13", Clock(noon.AddDate(0, 0, -1), noon), "a weekday that is past would be taken for the next one")

	east := time.FixedZone("", 3*3600)
	require.Equal(t, "16:13:00", LastingClock(noon, noon.In(east)))
	require.Equal(t, "00:13:00 on Mon 16 Nov", LastingClock(noon.Add(8*time.Hour), noon.In(east)))
}

func TestNumbersOfThings(t *testing.T) {
	for want, got := range map[string]string{
		"0 sessions": Count(0, "session"), "1 session": Count(1, "session"), "2 sessions": Count(2, "session"),
		"1 try": Count(1, "try"), "3 tries": Count(3, "try"), "2 days": Count(2, "day"),
		"waits": Verb(1, "waits", "wait"), "wait": Verb(0, "waits", "wait"),
	} {
		require.Equal(t, want, got)
	}
}

func TestStates(t *testing.T) {
	due := noon.Add(time.Hour)
	for want, v := range map[string]view.Session{
		"gave up":  {State: resume.GaveUp, Paused: true},
		"parked":   {State: resume.Parked},
		"paused":   {State: resume.Watching, Paused: true},
		"watching": {State: resume.Watching, NextAt: &due},
		"settling": {State: resume.Settling},
	} {
		require.Equal(t, want, StatePhrase(v, noon))
	}
	utc(t)
	require.Equal(t, "waiting, in 1h 0m, 14:13", StatePhrase(view.Session{State: resume.Waiting, NextAt: &due}, noon))
	require.Equal(t, "may continue: waiting, in 1h 0m, 14:13", After(view.Session{State: resume.Waiting, NextAt: &due}, true, "due now", noon), "a person's word does not end a limit")
	require.Equal(t, "running", Outcome(""))
	require.Equal(t, "no progress", Outcome(resume.NoProgress))
	require.Equal(t, "pid 17 in %3", Owner(view.Session{Owner: &resume.Owner{PID: 17, Tmux: "%3"}}))
	require.Equal(t, "?", Project(view.Session{}))
}

func TestTriesOfASessionWhoseBoundWasLoweredSince(t *testing.T) {
	require.Equal(t, "1/5", Tries(view.Session{Attempt: 1, MaxRetries: 5}))
	require.Equal(t, "3/3", Tries(view.Session{Attempt: 3, MaxRetries: 2}))
	require.Equal(t, "3", Tries(view.Session{Attempt: 3}))
}

func TestReasonsSayTimesAsTheyAreHere(t *testing.T) {
	utc(t)
	time.Local = time.FixedZone("", 3600)
	for text, want := range map[string]string{
		"limited until 2026-11-15T13:14:00Z, as was told":     "limited until 14:14:00, as was told",
		"until 2026-11-17T13:14:00Z\x1b[31m":                  "until Tue 14:14",
		"2026-11-15T13:14:00Z and 2026-11-15T13:15:00Z":       "14:14:00 and 14:15:00",
		"no time: Zebra, 2026-99-99T13:14:00Z, 2026-11-15T1Z": "no time: Zebra, 2026-99-99T13:14:00Z, 2026-11-15T1Z",
	} {
		require.Equal(t, want, ReasonAt(text, noon))
	}
}

// A session is not called due while it is held back, even if its wait is over.
func TestWhoIsHeldBackIsNotDue(t *testing.T) {
	utc(t)
	v := view.Session{State: resume.Waiting, NextAt: new(noon.Add(-time.Minute)), Reason: "due, but resumed is paused"}
	require.Equal(t, "due now", Countdown(v, noon))
	v.Held = true
	require.Equal(t, "held back", Countdown(v, noon))
	require.Equal(t, "waiting, held back", StatePhrase(v, noon))
	require.Equal(t, "waiting, held back", stateFact(v).Line(noon))
	v.NextAt = new(noon.Add(107 * time.Minute))
	require.Equal(t, "in 1h 47m, 15:00", Countdown(v, noon))
	why := WhyNot(v, noon)
	require.Contains(t, why.Lines[len(why.Lines)-1], "due, but resumed is paused")
}

// The answer of pause: the end of the wait is not when the session continues.
func TestAPausedSessionSaysWhenItsWaitEnds(t *testing.T) {
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	s := view.Session{State: resume.Waiting, NextAt: new(now.Add(107 * time.Minute))}
	require.Contains(t, StatePhrase(s, now), "waiting, in 1h 47m")
	s.Paused = true
	require.Contains(t, StatePhrase(s, now), "paused; its wait ends in 1h 47m")
	s.NextAt = new(now.Add(-time.Minute))
	require.NotContains(t, StatePhrase(s, now), "its wait ends")
}
