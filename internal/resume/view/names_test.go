package view

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// seen is the view of a session AGENT/ID in that state.
func seen(full string, state resume.State, more ...func(*Session)) Session {
	agent, id, _ := strings.Cut(full, "/")
	v := Session{Agent: agent, ID: id, State: state}
	for _, f := range more {
		f(&v)
	}
	return v
}

func called(name string) func(*Session) { return func(v *Session) { v.Name = name } }

func worksIn(dir string) func(*Session) { return func(v *Session) { v.Cwd = dir } }

func TestASessionIsFoundByWhatPeopleCallIt(t *testing.T) {
	sessions := []Session{
		seen("claude-code/4f2a", resume.Waiting), seen("claude-code/4f2a-long", resume.Waiting), seen("mybot/9c", resume.Waiting), seen("codex/9c", resume.Waiting),
		seen("codex/0199-one", resume.Watching), seen("codex/0199-two", resume.Parked), seen("codex/0199-three", resume.Watching),
		seen("codex/task-1", resume.Watching, called("task"), worksIn("/src/web")), seen("codex/task-2", resume.Waiting, called("task-2"), worksIn("/src/web")),
		seen("a/first", resume.Watching, worksIn("/src/shop")), seen("a/second", resume.Watching, worksIn("/src/shop")), seen("a/third", resume.Watching, worksIn("/home/me/alone")),
		seen("a/webshop", resume.Watching, worksIn("/")), seen("b/codecs", resume.Watching),
	}
	for text, want := range map[string]string{
		"4f2a":           "claude-code/4f2a", // an id wins over a prefix
		"4f2a-":          "claude-code/4f2a-long",
		"mybot/9c":       "mybot/9c",
		"codex/9":        "codex/9c",
		"claude-code/4f": "",
		"9c":             "", // of two agents, both interrupted
		"nobody":         "",
		"":               "",
		"0199":           "codex/0199-two", // the interrupted one
		"0199-t":         "codex/0199-two",
		"0199-th":        "codex/0199-three",
		"task":           "codex/task-1", // a printed name means its session, even if another one is interrupted
		"task-":          "codex/task-2",
		"web":            "a/webshop", // a prefix of an id wins over a project
		"shop":           "",
		"alone":          "a/third",
		"code":           "b/codecs", // not the agent's name
	} {
		got, err := Find(sessions, text)
		if want == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, got.Key().String(), text)
	}
	found, err := Find(sessions[7:9], "web")
	require.NoError(t, err)
	require.Equal(t, "task-2", found.ID, "of a project the one that is interrupted")

	_, err = Find(sessions, "nobody")
	require.ErrorIs(t, err, resume.ErrNoSession)
	_, err = Find(sessions, "claude-code/4f")
	require.ErrorContains(t, err, `"claude-code/4f" fits 2 sessions: claude-code/4f2a, claude-code/4f2a-long`)
}
