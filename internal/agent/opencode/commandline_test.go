package opencode

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/headless"
)

func TestInvocations(t *testing.T) {
	t.Parallel()
	a, err := openCode.make(agent.Options{Roots: []string{t.TempDir()}})
	require.NoError(t, err)
	agenttest.Invocations(t, a, []agenttest.Called{
		{Rule: "flags", Line: "run --format json -m a/b --agent build fix it now", Next: "run --format json -m a/b --agent build --session ID continue"},
		{Rule: "continued", Line: "--print-logs run fix_it -c --fork --title t -f a.txt b.txt", Next: "--print-logs run --session ID continue"},
		{Rule: "a session", Line: "run fix_it -s abcd-1234", Next: "run --session ID continue", Session: "abcd-1234"},
		{Rule: "a session that is forked", Line: "run fix_it -s abcd-1234 --fork", Next: "run --session ID continue"},
		{Rule: "a command", Line: "run --command review", Next: "run --session ID continue"},
		{Rule: "prompt by the standard input", Line: "run", Next: "run --session ID continue", Silent: true},
		{Rule: "a server", Line: "serve"},
	})
	i, _ := a.Invocation([]string{"run", "x"})
	require.Equal(t, []string{"run", "--session", "ses_1", "go", "on"}, i.Resume(headless.Continuation{Session: "ses_1"}, "go on"),
		"a prompt of several words is kept without quotes")
}

func TestWhatCanBeContinued(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	s := newStore(t, home)
	a := newAgent(t, agent.Options{Roots: []string{home}})
	begin := func(id, parent, directory, prompt string) func() {
		return func() {
			s.session(id, directory, time.Now())
			s.exec("UPDATE session SET parent_id = nullif(?, '') WHERE id = ?", parent, id)
			s.user("msg_"+id, id, time.Now())
			s.insert("part", map[string]any{"id": "prt_" + id, "message_id": "msg_" + id, "session_id": id, "data": fmt.Sprintf(`{"type":"text","text":%q}`, prompt)})
			s.user("msg_"+id+"_later", id, time.Now().Add(time.Second))
		}
	}
	ran := func(line string, does func(), text string) headless.Continuation {
		t.Helper()
		time.Sleep(time.Millisecond) // what was there before is older: its times are whole milliseconds
		return agenttest.Ran(t, a, line, dir, does, headless.Ended{Printed: headless.Printed{Stdout: text}})
	}
	const told = `{"type":"step_start","sessionID":"ses_told"}`
	require.Equal(t, headless.Continuation{Session: "ses_1", Transcript: s.path, Cwd: dir}, ran("run fix_it now", begin("ses_1", "", dir, `"fix it" now`+"\n"), ""))
	require.Equal(t, "ses_2", ran("run fix", begin("ses_2", "", dir, "fix\nthe input\n"), "").Session)
	require.Empty(t, ran("run fix", nil, ""), "one that was there before")
	require.Empty(t, ran("run fix", begin("ses_3", "", dir, "write a poem"), ""), "another one's")
	require.Empty(t, ran("run fix", begin("ses_4", "", t.TempDir(), "fix"), ""), "one of another directory")
	require.Empty(t, ran("run fix", begin("ses_5", "ses_1", dir, "fix"), ""), "one of its own agents")
	require.Empty(t, ran("run fix", nil, told), "the words of an answer are no word of its own")
	require.Empty(t, ran("run --continue fix", nil, ""))
	require.Empty(t, ran("run fix", func() { begin("ses_6", "", dir, "fix")(); begin("ses_7", "", dir, "fix")() }, ""), "two of them leave it open")
	require.Equal(t, headless.Continuation{Session: "ses_told", Cwd: dir}, ran("run --format json fix", nil, told))
	require.Equal(t, headless.Continuation{Session: "abcd-8", Cwd: dir + "/sub"}, ran("run --dir sub -s abcd-8 fix", nil, ""))
}
