package agents_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agents"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

func TestALimitOfOneModelHasARemedy(t *testing.T) {
	for text, want := range map[string]struct{ agent, remedy string }{
		"You've hit your Opus limit · resets 2am (UTC)":                                                      {"claude-code", "Opus alone: to continue now, open it and type /model sonnet"},
		"Opus weekly limit reached ∙ resets Oct 31, 9am":                                                     {"claude-code", "Opus alone: to continue now, open it and type /model sonnet"},
		"You've hit your Sonnet limit · resets 2am (UTC)":                                                    {"claude-code", "Sonnet alone: to continue now, open it and type /model"},
		"You've reached your Fable 5 limit.":                                                                 {"claude-code", "Fable 5 alone: to continue now, open it and type /model"},
		"You've hit your usage limit for gpt-5-codex. Switch to another model now, or try again at 4:10 PM.": {"codex", "gpt-5-codex alone: to continue now, open it and type /model"},
		"You’ve hit your usage limit for spark. Switch to another model now, or try again later.":            {"codex", "spark alone: to continue now, open it and type /model"},
		"⚡ You have reached your daily gemini-2.5-pro quota limit.":                                          {"gemini", "gemini-2.5-pro alone: to continue now, open it and type /model"},
		"Usage limit reached for gemini-2.5-flash. Access resets at 3:31 AM UTC.":                            {"gemini", "gemini-2.5-flash alone: to continue now, open it and type /model"},
		"You have exhausted your daily quota on this model.":                                                 {"gemini", "this model alone: to continue now, open it and type /model"},
		"Opus limit": {"opencode", "Opus alone: to continue now, open it and type /models"},

		"You've hit your weekly limit · resets 2am (UTC)":    {"claude-code", ""},
		"You've hit your 5-hour limit; opus is used here":    {"claude-code", ""},
		"You've hit your usage limit for this month.":        {"codex", ""},
		"You've hit your usage limit. Try again at 4:10 PM.": {"codex", ""},
	} {
		got := agents.Remedy(view.Session{Agent: want.agent, State: resume.Waiting, Class: limit.UsageLimit, Text: text})
		if want.remedy != "" {
			want.remedy = "the limit is for " + want.remedy
		}
		require.Equal(t, want.remedy, got, text)
	}
}
