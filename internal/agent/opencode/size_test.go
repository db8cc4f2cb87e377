package opencode

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

func TestTheSizeOfTheContextIsReadFromTheLastAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newStore(t, dir)
	at := time.Date(2026, 11, 15, 5, 0, 0, 0, time.UTC)
	s.session("ses_1", "/src", at)
	s.message("m1", "ses_1", at, `{"role":"assistant","providerID":"anthropic","time":{"created":1,"completed":1794718800000},"tokens":{"input":1000,"output":20,"reasoning":0,"cache":{"read":300,"write":5}}}`)
	s.message("m2", "ses_1", at, `{"role":"assistant","providerID":"anthropic","tokens":{"input":0,"output":0,"cache":{"read":0,"write":0}},"error":{"name":"APIError"}}`)
	s.message("m3", "ses_1", at, `no document`)
	a := newAgent(t, agent.Options{})
	got, known, err := a.ContextSize(t.Context(), resume.Session{Key: resume.Key{ID: "ses_1"}, Transcript: filepath.Join(dir, "opencode.db")})
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, resume.Context{Tokens: 1325, At: time.UnixMilli(1794718800000).UTC(), Warm: 5 * time.Minute}, got)
}
