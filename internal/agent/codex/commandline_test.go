package codex

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/headless"
)

func TestInvocations(t *testing.T) {
	agenttest.Invocations(t, newAgent(t, Options{}), []agenttest.Called{
		{
			Rule: "flags", Line: "exec -C /src -s read-only -m gpt-5 -c model_reasoning_effort=high --json fix_it",
			Next: "exec -C /src -s read-only -m gpt-5 -c model_reasoning_effort=high --json resume ID continue",
		},
		{Rule: "flags after the prompt", Line: "exec fix_it --sandbox workspace-write", Next: "exec --sandbox workspace-write resume ID continue"},
		{
			Rule: "flags before exec stay there", Line: "-m gpt-5 --search e --full-auto fix_it",
			Next: "-m gpt-5 --search exec --full-auto resume ID continue",
		},
		{Rule: "resumed", Line: "exec --json resume --last go_on", Next: "exec --json resume ID continue"},
		{Rule: "resumed by id", Line: "exec resume abcd-1234 go_on -m gpt-5", Next: "exec -m gpt-5 resume ID continue", Session: "abcd-1234"},
		{Rule: "resumed, prompt by the standard input", Line: "exec resume abcd-1234 -", Next: "exec resume ID continue", Session: "abcd-1234", Silent: true},
		{Rule: "prompt by the standard input", Line: "exec", Next: "exec resume ID continue", Silent: true},
		{Rule: "pictures are in the session", Line: "exec fix_it -i a.png", Next: "exec resume ID continue"},
		{Rule: "as many as there are", Line: "exec -i a.png fix_it", Next: "exec resume ID continue", Silent: true},
		{Rule: "values without a blank", Line: "exec -sread-only -mgpt-5 fix_it", Next: "exec -sread-only -mgpt-5 resume ID continue"},
		{Rule: "a work tree is made once", Line: "exec --worktree --json fix_it", Next: "exec --json resume ID continue"},
		{Rule: "a review", Line: "exec review x"},
		{Rule: "a terminal", Line: "x"},
	})
}

func TestWhatCanBeContinued(t *testing.T) {
	home := t.TempDir()
	t.Setenv("CODEX_HOME", home)
	a := newAgent(t, Options{})
	ran := func(line, text, beside, session string) headless.Continuation {
		t.Helper()
		return agenttest.Ran(t, a, line, "/src", nil, headless.Ended{Printed: headless.Printed{Stdout: text, Stderr: beside}, Session: session})
	}
	const banner, other = "session id: " + agenttest.ID + "\n", "7b3d2e8f-0000-4000-8000-000000000002"
	const record = `{"type":"thread.started","thread_id":"` + agenttest.ID + `"}` + "\n"
	require.Empty(t, ran("exec x", "", "", ""), "no session was begun")
	require.Equal(t, agenttest.ID, ran("exec x", "session id: "+other, banner, "").Session, "the answer may speak of any")
	require.Equal(t, agenttest.ID, ran("exec x", banner, "", "").Session, "both streams are one")
	require.Equal(t, agenttest.ID, ran("exec --json x", record, "session id: "+other, "").Session)
	require.Empty(t, ran("exec x", record, "ERROR: x", ""))
	require.Empty(t, ran("exec --ephemeral x", "", banner, ""))
	require.Equal(t, "abcd-1234", ran("exec resume abcd-1234 x", "", "", "").Session)

	rollout := filepath.Join(home, "sessions", "2026", "11", "15", "rollout-2026-11-15T00-00-00-"+agenttest.ID+".jsonl")
	agenttest.Write(t, rollout, "")
	require.Equal(t, headless.Continuation{Session: agenttest.ID, Transcript: rollout}, ran("exec resume --last x", "", banner, ""))
}
