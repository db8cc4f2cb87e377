package backend

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
)

func TestWhoIsWatched(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	got := watched([]string{"claude-code", "codex"}, []resume.Account{
		{AccountKey: resume.AccountKey{Name: "codex:default"}, Sessions: 2, MovedAt: now.Add(-time.Hour)},
		{AccountKey: resume.AccountKey{Name: "codex:/other", Provider: "azure"}, Sessions: 3, MovedAt: now},
		{AccountKey: resume.AccountKey{Name: "codex-like:default"}, Sessions: 5},
	})
	require.Equal(t, []control.Watched{{Name: "claude-code"}, {Name: "codex", Sessions: 5, MovedAt: &now}}, got)
}
