package qwen

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/headless"
)

func TestInvocations(t *testing.T) {
	agenttest.Invocations(t, newAgent(t), []agenttest.Called{
		{Rule: "flags", Line: "--prompt fix_it -y -m coder", Next: "-y -m coder --resume ID -p continue"},
		{Rule: "plain prompt", Line: "-y fix_it", Next: "-y --resume ID -p continue"},
		{Rule: "continued", Line: "--continue -p fix_it", Next: "--resume ID -p continue"},
		{Rule: "resumed", Line: "-p x --resume abcd-1234", Next: "--resume ID -p continue", Session: "abcd-1234"},
		{Rule: "input by lines of JSON", Line: "-p= --input-format stream-json", Next: "--resume ID -p continue", Silent: true},
		{Rule: "a terminal", Line: "-y"},
		{Rule: "a terminal with a prompt", Line: "-i x"},
		{Rule: "a subcommand", Line: "auth status"},
	})
}

func TestWhatCanBeContinued(t *testing.T) {
	const told = `{"type":"system","subtype":"init","session_id":"` + agenttest.ID + `","uuid":"` + agenttest.ID + `","permission_mode":"x"}`
	dir := t.TempDir()
	first := func(prompt, cwd string) string {
		return fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"type":"user","message":{"parts":[{"text":%q}]}}`+"\n", agenttest.ID, cwd, prompt)
	}
	answer := `{"type":"assistant","message":{"parts":[{"text":"done"}]}}` + "\n"
	for home, set := range map[string]map[string]string{
		"~/.qwen":           {"QWEN_HOME": "", "QWEN_RUNTIME_DIR": ""},
		"$QWEN_HOME":        {"QWEN_HOME": t.TempDir(), "QWEN_RUNTIME_DIR": ""},
		"$QWEN_RUNTIME_DIR": {"QWEN_HOME": t.TempDir(), "QWEN_RUNTIME_DIR": t.TempDir()},
	} {
		t.Run(home, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			for name, value := range set {
				t.Setenv(name, value)
			}
			a, err := described.New(agent.Options{})
			require.NoError(t, err)
			chat := filepath.Join(a.Homes.Usual, "projects/-src-shop/chats", agenttest.ID+".jsonl")
			write := func(text string) func() { return func() { agenttest.Write(t, chat, text) } }
			ran := func(line string, does func(), text string) headless.Continuation {
				t.Helper()
				return agenttest.Ran(t, a, line, dir, does, headless.Ended{Printed: headless.Printed{Stdout: text}})
			}
			require.Equal(t, headless.Continuation{Session: agenttest.ID, Transcript: chat}, ran("-p fix_it", write(first("fix it", dir)+answer+first("later", dir)), ""))
			require.Empty(t, ran("-p fix_it", write(first("fix it", dir)), ""), "a chat that was there before")
			require.Empty(t, ran("-p fix_it", nil, told), "the words of an answer are no word of its own")
			require.Equal(t, headless.Continuation{Session: agenttest.ID}, ran("-p fix_it -o json", nil, told))
			chat = filepath.Join(filepath.Dir(chat), "7b3d2e8f-0000-4000-8000-000000000002.jsonl")
			require.Empty(t, ran("-p fix_it", write(first("write a poem", dir)), ""), "another one's chat")
			chat = filepath.Join(filepath.Dir(chat), "7b3d2e8f-0000-4000-8000-000000000003.jsonl")
			require.Empty(t, ran("-p fix_it", write(first("fix it", t.TempDir())), ""), "a chat of another directory")
		})
	}
}
