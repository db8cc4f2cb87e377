package gemini

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

func TestTheSizeOfTheContextIsReadFromTheLastAnswer(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	a, err := described.New(agent.Options{})
	require.NoError(t, err)
	got, known, err := a.Weigh(t.Context(), resume.Session{Transcript: "testdata/chats/headless_killed_then_resumed_tool.jsonl"})
	require.NoError(t, err)
	require.True(t, known)
	require.EqualValues(t, 15, got.Tokens)
	require.Zero(t, got.Warm, "how long it is kept is not known")
	require.WithinDuration(t, time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC), got.At, 24*time.Hour)
}
