package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func TestTheFirstLinesSayWhatWasFound(t *testing.T) {
	of := func(agent string, state resume.State) resume.Session {
		return resume.Session{Key: resume.Key{Agent: agent, ID: agent + state.String()}, State: state}
	}
	require.Equal(t, "claude-code: 3 sessions (2 stopped), codex: none, gemini: 1 session", foundWords(
		[]string{"claude-code", "codex", "gemini"},
		[]resume.Session{
			of("claude-code", resume.Watching), of("claude-code", resume.Waiting), of("claude-code", resume.Parked),
			of("gemini", resume.Watching), of("opencode", resume.Watching),
		}))
}
