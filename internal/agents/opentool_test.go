package agents_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/resume"
)

// What the real agents had written when a tool ran, and when it had its result.
func TestTheToolThatWasInterrupted(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	made, err := agents.Make(config.Default())
	require.NoError(t, err)
	for name, c := range map[string]struct{ files, call, tool string }{
		"pi":        {"pi/testdata/sessions/ok/*/*.jsonl", `"toolCall"`, "bash"},
		"qwen-code": {"qwen/testdata/chats/0.24.4-flex_capacity.jsonl", `"functionCall"`, "run_shell_command"},
		"copilot":   {"copilot/testdata/events/tool/*/events.jsonl", `"toolRequests":[{`, "bash"},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := filepath.Glob("../agent/" + c.files)
			require.NoError(t, err)
			calls := 0
			for _, file := range files {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				path := filepath.Join(t.TempDir(), filepath.Base(file))
				open := func(text []byte) string {
					require.NoError(t, os.WriteFile(path, text, 0o600))
					return made[name].(agent.OpenToolReader).OpenTool(t.Context(), resume.Session{Transcript: path})
				}
				require.Empty(t, open(text), file)
				before, rest, found := bytes.Cut(text, []byte(c.call))
				if !found {
					continue
				}
				calls++
				line, _, _ := bytes.Cut(rest, []byte("\n"))
				require.Equal(t, c.tool, open(append(append(before, c.call...), append(line, '\n')...)), file)
			}
			require.Positive(t, calls)
		})
	}
}
