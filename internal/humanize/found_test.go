package humanize

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func TestTheFirstLinesSayWhatWasFound(t *testing.T) {
	names := []string{"claude-code", "codex", "gemini"}
	sessions, next := Found(names, map[string]resume.Tally{
		"claude-code": {resume.Watching: 1, resume.Waiting: 1, resume.Parked: 1}, "gemini": {resume.Watching: 1}, "opencode": {resume.Watching: 1},
	})
	require.Equal(t, "claude-code: 3 sessions (2 stopped), codex: none, gemini: 1 session", sessions)
	require.Contains(t, next, "resumed retry --unseen")
	_, next = Found(names, map[string]resume.Tally{"codex": {resume.Watching: 1}})
	require.NotContains(t, next, "retry", "none is stopped")
}
