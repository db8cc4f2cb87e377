package gemini

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/headless"
)

func TestInvocations(t *testing.T) {
	a := newAgent(t, agent.Options{})
	agenttest.Invocations(t, a, []agenttest.Called{
		{Rule: "prompt still there", Line: "-p fix_it -m pro --approval-mode yolo", Next: "-m pro --approval-mode yolo --resume ID -p continue"},
		{Rule: "plain prompt", Line: "-y fix_it", Next: "-y --resume ID -p continue"},
		{Rule: "resumed", Line: "-p x --resume abcd-1234", Next: "--resume ID -p continue", Session: "abcd-1234"},
		{Rule: "resumed by its number", Line: "-p x --resume 5", Next: "--resume ID -p continue"},
		{Rule: "the latest", Line: "-p x --resume latest", Next: "--resume ID -p continue"},
		{Rule: "an id of its own", Line: "-p x --session-id abcd-1234", Next: "--resume ID -p continue", Session: "abcd-1234"},
		{Rule: "prompt by the standard input", Line: "-p=", Next: "--resume ID -p continue", Silent: true},
		{Rule: "a terminal", Line: ""},
		{Rule: "a terminal with a prompt", Line: "-i x"},
		{Rule: "a subcommand", Line: "mcp list"},
	})
	i, ok := a.Invocation(agenttest.Words("-p fix_it -m pro"))
	require.True(t, ok)
	require.Equal(t, agenttest.Words("-p fix_it -m pro --resume "+agenttest.ID),
		i.Resume(headless.Continuation{Session: agenttest.ID, Again: true}, "continue"), "a prompt that was taken back is given again")
	i, _ = a.Invocation(agenttest.Words("-m pro fix_it"))
	require.Equal(t, agenttest.Words("-m pro --resume "+agenttest.ID+" fix_it"), i.Resume(headless.Continuation{Session: agenttest.ID, Again: true}, ""))
}

const (
	chatHead    = `{"sessionId":"` + agenttest.ID + `","projectHash":"x","kind":"main"}` + "\n"
	chatContext = `{"$set":{"messages":[{"id":"1","type":"user","content":[{"text":"<session_context>\nThis is"}]}]}}` + "\n"
	chatAsked   = `{"id":"2","type":"user","content":[{"text":"fix it"}]}` + "\n"
	chatSaid    = `{"id":"3","type":"gemini","content":"done"}` + "\n"
	chatUndone  = `{"$set":{"messages":[{"id":"1","type":"user","content":[{"text":"<session_context>"}]},{"id":"3","type":"gemini","content":"done"}]}}` + "\n"
)

// project creates a home with a project of a directory, and returns the path for a chat of it.
func project(t *testing.T) (a *agent.Described, dir, chat string) {
	home := t.TempDir()
	t.Setenv("GEMINI_CLI_HOME", home)
	a, err := described.New(agent.Options{})
	require.NoError(t, err)
	dir = t.TempDir()
	agenttest.Write(t, filepath.Join(home, ".gemini/tmp/shop/.project_root"), dir)
	return a, dir, filepath.Join(home, ".gemini/tmp/shop/chats/session-2026-11-15T00-10-4f2a1c9e.jsonl")
}

func TestASessionIsContinuedAsFarAsItsChatGoes(t *testing.T) {
	for rule, c := range map[string]struct {
		chat  string
		found bool
		again bool
	}{
		"a first prompt that was taken back leaves nothing": {chat: chatHead + chatContext + chatAsked + chatContext},
		"one that was killed is still there":                {chat: chatHead + chatContext + chatAsked, found: true},
		"a later prompt that was taken back is given again": {chat: chatHead + chatContext + chatAsked + chatSaid + chatAsked + chatUndone, found: true, again: true},
		"nonsense":            {chat: "{}\nnot JSON\n"},
		"another one's chat":  {chat: chatHead + chatContext + `{"id":"2","type":"user","content":"write a poem"}` + "\n" + chatSaid},
		"a subagent's":        {chat: `{"sessionId":"` + agenttest.ID + `","projectHash":"x","kind":"subagent"}` + "\n" + chatAsked + chatSaid},
		"with an input added": {chat: chatHead + `{"id":"2","type":"user","content":"the input\n\nfix it"}` + "\n" + chatSaid, found: true, again: true},
	} {
		t.Run(rule, func(t *testing.T) {
			a, dir, path := project(t)
			trail := agenttest.Ran(t, a, "-p fix_it", dir, func() { agenttest.Write(t, path, c.chat) }, headless.Ended{Code: 173})
			want := headless.Continuation{Status: 429}
			if c.found {
				want.Session, want.Transcript, want.Again = agenttest.ID, path, c.again
			}
			require.Equal(t, want, trail)
		})
	}
}

func TestWhatCanBeContinued(t *testing.T) {
	const told = `{"type":"init","session_id":"` + agenttest.ID + `","model":"m"}` + "\n" +
		`{"type":"result","status":"error","error":{"message":"[API Error: x]"}}`
	a, dir, path := project(t)
	write := func(at string) func() {
		return func() { agenttest.Write(t, at, chatHead+chatContext+chatAsked+chatSaid) }
	}
	ran := func(line, in string, does func(), text string) headless.Continuation {
		t.Helper()
		return agenttest.Ran(t, a, line, in, does, headless.Ended{Printed: headless.Printed{Stdout: text}})
	}
	require.Empty(t, ran("-p fix_it", t.TempDir(), write(path), ""), "a chat of another directory")
	require.Empty(t, ran("-p fix_it", dir, write(path), ""), "a chat that was there before")
	require.Empty(t, ran("-p fix_it", dir, nil, told), "the words of an answer are no word of its own")
	want := headless.Continuation{Session: agenttest.ID, Transcript: path, Again: true}
	require.Equal(t, want, ran("-p fix_it -o stream-json", dir, nil, told))
	stub := filepath.Join(filepath.Dir(path), "session-2026-11-15T00-20-4f2a1c9e.jsonl")
	require.Equal(t, want, ran("-p x --resume "+agenttest.ID, dir, func() { agenttest.Write(t, stub, chatHead+chatContext) }, ""),
		"a stub beside the chat is passed over")

	t.Setenv("GEMINI_CLI_HOME", t.TempDir())
	a = newAgent(t, agent.Options{})
	require.Equal(t, headless.Continuation{Session: agenttest.ID, Again: true}, ran("-p x -o json", dir, nil, told), "nobody can look")
}

func TestExitCodesStandForStatuses(t *testing.T) {
	for code, want := range map[int]int{173: 429, 247: 503, 145: 401, 1: 0, 42: 0, 0: 0} {
		require.Equal(t, want, left(t.Context(), newAgent(t, agent.Options{}), headless.Continuation{}, headless.Ended{Code: code}, "").Status, code)
	}
}
