package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

func TestOnlyPromptsOfEarlierResumesAreOurs(t *testing.T) {
	at := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	minute := func(n float64) time.Time { return at.Add(time.Duration(n * float64(time.Minute))) }
	s := resume.Session{
		Past: []resume.Attempt{{Mark: "m1", StartedAt: minute(1), EndedAt: minute(2)}},
		Interruption: resume.Interruption{
			Attempts: []resume.Attempt{
				{Mark: "m2", StartedAt: minute(10), EndedAt: minute(11)},
				{Mark: "m4", StartedAt: minute(15)},
				{Mark: "m3", StartedAt: minute(20), EndedAt: minute(21)}, // its transcript shows the end already
			},
			Cut: []resume.Attempt{{Mark: "m0", StartedAt: minute(6), EndedAt: minute(7), Outcome: resume.DaemonStopped}},
		},
		Run: &resume.Run{Mark: "m3"},
	}
	for n, want := range map[float64]bool{0.5: false, 1.5: true, 5: false, 6.5: true, 10: true, 11.01: true, 11.5: false, 15.5: false, 20.5: false} {
		require.Equal(t, want, agent.SentByUs(s, minute(n)), "minute %v", n)
	}
}

func TestWhyASessionIsLeftAlone(t *testing.T) {
	now := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	until := func(at time.Time) limit.Verdict {
		return limit.Verdict{Class: limit.UsageLimit, Reset: limit.Reset{At: at}}
	}
	known := now.Add(time.Hour)
	s := resume.Session{Interruption: resume.Interruption{Limit: until(known)}}
	for want, last := range map[string]resume.Event{
		"newer prompt":              resume.Prompted{},
		"moved on":                  resume.Progressed{},
		"interrupted by the user":   resume.Cancelled{},
		"does not say any more":     nil,
		"until 2026-11-15T02:00:00": resume.Limited{At: now.Add(-time.Minute), Verdict: until(now.Add(2 * time.Hour))},
	} {
		require.Contains(t, agent.WhyNotNow(s, last, now), want)
	}
	for _, reset := range []time.Time{{}, now.Add(-time.Hour), known} {
		require.Empty(t, agent.WhyNotNow(s, resume.Limited{At: now.Add(-time.Minute), Verdict: until(reset)}, now))
	}
	s.LimitedAt = now.Add(-time.Minute)
	require.Empty(t, agent.WhyNotNow(s, resume.Limited{At: s.LimitedAt, Verdict: until(now.Add(2 * time.Hour))}, now),
		"its own record: another session knows that the reset has moved")
}

// A session that was cut off has no record of it: it is stopped as long as nothing was written since.
func TestASessionThatWasCutOffIsStoppedUntilSomethingIsWritten(t *testing.T) {
	at := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	s := resume.Session{LimitedAt: at, Interruption: resume.Interruption{Limit: limit.Verdict{Class: limit.CutOff}}}
	later := at.Add(time.Second)
	require.Empty(t, agent.WhyNotNow(s, resume.Progressed{At: at}, later))
	require.Empty(t, agent.WhyNotNow(s, resume.Prompted{At: at.Add(-time.Minute)}, later))
	require.Contains(t, agent.WhyNotNow(s, resume.Progressed{At: later}, later), "moved on")
	require.Contains(t, agent.WhyNotNow(s, resume.Prompted{At: later}, later), "newer prompt")
	require.Contains(t, agent.WhyNotNow(s, resume.Cancelled{At: at}, later), "interrupted")
	require.NotEmpty(t, agent.WhyNotNow(s, nil, later))
}
