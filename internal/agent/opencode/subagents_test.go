package opencode

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

func TestChildSessionsThatALimitStopped(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore(t, a.homes.Roots[0])
	now := time.Now().Truncate(time.Millisecond)
	for _, id := range []string{"ses_parent", "ses_stopped", "ses_works", "ses_old", "ses_other"} {
		s.session(id, "/src/app", now)
	}
	s.exec("UPDATE session SET parent_id = 'ses_parent', agent = 'explore' WHERE id IN ('ses_stopped', 'ses_works', 'ses_old')")
	s.exec("UPDATE session SET parent_id = 'ses_x' WHERE id = 'ses_other'")
	s.assistant("msg_1", "ses_stopped", now, refused(1))
	s.assistant("msg_2", "ses_works", now, refused(1))
	s.assistant("msg_3", "ses_works", now.Add(time.Second), finished)
	s.assistant("msg_4", "ses_old", now.Add(-time.Hour), refused(1))
	s.assistant("msg_5", "ses_other", now, refused(1))

	parent := resume.Session{Key: resume.Key{Agent: a.Name(), ID: "ses_parent"}, Transcript: s.path, PromptedAt: now.Add(-time.Minute)}
	found, err := a.Subagents(t.Context(), parent)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "ses_stopped", found[0].ID)
	require.Equal(t, "explore", found[0].Kind)
	require.Equal(t, limit.RateLimit, found[0].Class)
}
