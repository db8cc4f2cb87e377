package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// While the account of a session is looked up, its probe may end and the probe of another session may
// begin. The result of the first session says nothing about the second probe.
func TestASessionEndsNoProbeButItsOwn(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, event := range map[string]resume.Event{
		"refused":  resume.Limited{At: now, Verdict: limit.Verdict{Class: limit.UsageLimit}},
		"moved":    resume.Progressed{At: now},
		"released": resume.NotSent{},
	} {
		t.Run(name, func(t *testing.T) {
			first := &probing{Probe: Probe{Mark: "1"}, key: resume.Key{Agent: "bot", ID: "one"}, begun: now}
			second := &probing{Probe: Probe{Mark: "2"}, key: resume.Key{Agent: "bot", ID: "two"}, begun: now}
			var f *Fleet
			f = New(Filled(Options{
				Now: func() time.Time { return now }, Rules: func() Rules { return Rules{} }, Rand: func() float64 { return 0 },
				Account: func(resume.Session) string {
					f.mu.Lock()
					defer f.mu.Unlock()
					f.account("x").probe = second
					return "x"
				},
			}))

			f.account("x").probe = first
			f.Changed(resume.Change{Event: event, After: resume.Session{Key: first.key, State: resume.Waiting}})
			require.Equal(t, running, second.outcome)
			if r := f.account("x").refused; r != nil {
				require.Empty(t, r.Mark, "the refusal does not name the probe of another session")
			}
		})
	}
}
