package codex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func TestTheSizeOfTheContextIsReadFromTheLastAnswer(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	a, err := New(Options{})
	require.NoError(t, err)
	got, known, err := a.ContextSize(t.Context(), resume.Session{Transcript: "testdata/rollouts/v0.58.0_429.rollout.jsonl"})
	require.NoError(t, err)
	require.True(t, known)
	require.EqualValues(t, 1020, got.Tokens)
	require.Equal(t, 10*time.Minute, got.Warm)
	require.WithinDuration(t, time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC), got.At, 24*time.Hour)
}
