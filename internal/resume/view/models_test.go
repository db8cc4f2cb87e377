package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

func TestItIsSaidWhichModelASessionGoesOnWith(t *testing.T) {
	now := time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)
	may := resume.Models{Own: "opus", Fallback: "sonnet"}
	for rule, c := range map[string]struct {
		models resume.Models
		spoke  string
		reason string
		model  string
	}{
		"its own":                 {may, "opus", "works again after 1 resume", ""},
		"the other one":           {may, "claude-sonnet-5-5", "works again after 1 resume, with claude-sonnet-5-5 instead of opus (fallback_model)", "claude-sonnet-5-5"},
		"one that nobody tells":   {may, "", "works again after 1 resume", ""},
		"one that a person chose": {resume.Models{}, "sonnet", "works again after 1 resume", ""},
	} {
		t.Run(rule, func(t *testing.T) {
			s := resume.Session{Key: resume.Key{Agent: "claude-code", ID: "a"}}
			for _, ev := range []resume.Event{
				resume.Limited{At: now, Verdict: limit.Verdict{Class: limit.Overloaded, WaitHelps: true}},
				resume.Retry{},
				resume.Due{Mark: "m"},
				resume.Sending{Mark: "m", Models: c.models},
				resume.Started{Mark: "m"},
			} {
				s = s.Next(ev, resume.Rules{}, now, 0)
			}
			require.Equal(t, c.models, s.Attempts[0].Models)
			before := s
			s = s.Next(resume.Progressed{At: now, Model: c.spoke}, resume.Rules{}, now, 0)
			require.Equal(t, c.reason, sentence.Of(s))
			seen := Of(s, 0)
			require.Equal(t, c.model, seen.Past[0].Model)
			require.Equal(t, c.models.Fallback, seen.Past[0].Fallback)
			require.Equal(t, c.models, before.Attempts[0].Models, "what was there before is not touched")
		})
	}
}
