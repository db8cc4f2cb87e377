package claude

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/headless"
)

func TestInvocations(t *testing.T) {
	agenttest.Invocations(t, newAgent(t, Options{}), []agenttest.Called{
		{Rule: "prompt before flags", Line: "-p fix_it --model opus", Next: "-p --model opus --resume ID continue"},
		{Rule: "prompt after flags", Line: "--model opus --print fix_it", Next: "--model opus --print --resume ID continue"},
		{
			Rule: "lists of tools", Line: "-p fix_it --allowedTools Edit Bash(git:*) --add-dir ../a ../b",
			Next: "-p --allowedTools Edit Bash(git:*) --add-dir ../a ../b --resume ID continue",
		},
		{
			Rule: "permission mode and settings", Line: "--permission-mode acceptEdits --settings s.json -p fix_it",
			Next: "--permission-mode acceptEdits --settings s.json -p --resume ID continue",
		},
		{
			Rule: "values joined with =", Line: "-p --model=opus --permission-mode=plan fix_it",
			Next: "-p --model=opus --permission-mode=plan --resume ID continue",
		},
		{Rule: "an id of its own", Line: "-p --session-id abcd-1234 fix_it", Next: "-p --resume ID continue", Session: "abcd-1234"},
		{Rule: "continued", Line: "-pc fix_it", Next: "-p --resume ID continue"},
		{Rule: "resumed", Line: "-p -r abcd-1234 fix_it --verbose", Next: "-p --verbose --resume ID continue", Session: "abcd-1234"},
		{Rule: "resumed by its file", Line: "-p --resume /p/abcd-1234.jsonl now", Next: "-p --resume ID continue", Session: "abcd-1234"},
		{Rule: "an id that is none", Line: "-p --session-id=--evil now", Next: "-p --resume ID continue"},
		{Rule: "forked", Line: "-p -r abcd-1234 --fork-session fix_it", Next: "-p --resume ID continue"},
		{
			Rule: "input by lines of JSON", Line: "-p --input-format stream-json --output-format stream-json --replay-user-messages",
			Next: "-p --output-format stream-json --resume ID continue", Silent: true,
		},
		{Rule: "prompt after --", Line: "-p -- --help_me", Next: "-p --resume ID continue"},
		{Rule: "prompt by the standard input", Line: "-p", Next: "-p --resume ID continue", Silent: true},
		{
			Rule: "a flag nobody knows keeps what follows", Line: "-p --new-flag value --other fix_it",
			Next: "-p --new-flag value --other fix_it --resume ID continue", Silent: true,
		},
		{Rule: "a terminal", Line: "fix_it"},
		{Rule: "a subcommand", Line: "mcp list"},
	})
}

func TestAnIDIsGivenOnlyWhereItIsTaken(t *testing.T) {
	for line, given := range map[string]bool{
		"-p x":                               true,
		"-p -r abcd-1234 --fork-session x":   true,
		"-p -r abcd-1234 x":                  false,
		"-p -c x":                            false,
		"-p --session-id abcd-1234 x":        false,
		"-p --no-session-persistence x":      false,
		"-p --worktree tree x":               false,
		"-p --resume /p/abcd-1234.jsonl now": false,
	} {
		i, ok := newAgent(t, Options{}).Invocation(agenttest.Words(line))
		require.True(t, ok)
		if given {
			require.Equal(t, []string{"--session-id", agenttest.ID}, i.SessionIDArgs(agenttest.ID), line)
		} else {
			require.Empty(t, i.SessionIDArgs(agenttest.ID), line)
		}
	}
}

func TestWhatCanBeContinued(t *testing.T) {
	const told = `{"type":"result","is_error":true,"session_id":"7b3d2e8f-0000-4000-8000-000000000002","result":"API Error: 529"}`
	home := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", home)
	a := newAgent(t, Options{})
	transcript := filepath.Join(home, "projects", "-src", agenttest.ID+".jsonl")
	ran := func(line string, does func(), text, session string) headless.Continuation {
		t.Helper()
		return agenttest.Ran(t, a, line, "/src", does, headless.Ended{Printed: headless.Printed{Stdout: text}, Session: session})
	}
	require.Equal(t, agenttest.ID, ran("-p x", nil, "", agenttest.ID).Session, "nobody can look")

	agenttest.Write(t, filepath.Join(home, "projects", "-src", "older.jsonl"), "")
	require.Empty(t, ran("-p x", nil, "", agenttest.ID), "it was given an id and began nothing")
	written := func() { agenttest.Write(t, transcript, "") }
	require.Empty(t, ran("-p -c x", written, "", ""), "which it continued it does not say")
	require.Empty(t, ran("-p -c x", written, told, ""), "the words of an answer are no word of its own")
	require.Empty(t, ran("-p --no-session-persistence x", written, "", agenttest.ID))
	require.Equal(t, headless.Continuation{Session: agenttest.ID, Transcript: transcript}, ran("-p x", nil, "", agenttest.ID))
	require.Equal(t, "7b3d2e8f-0000-4000-8000-000000000002", ran("-p -c --output-format json x", nil, told, "").Session)
}
