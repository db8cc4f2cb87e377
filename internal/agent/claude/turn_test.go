package claude

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent/claude/claudetest"
	"resumed/internal/resume"
)

// What its process has registered says whether a prompt without an answer is worked on: if a person takes
// it back at once, nothing is recorded.
func TestWhetherAPromptIsWorkedOn(t *testing.T) {
	home := t.TempDir()
	a, err := New(Options{Roots: []string{home}})
	require.NoError(t, err)
	const prompt = `{"type":"user","timestamp":"2026-11-15T00:00:01Z","message":{"role":"user","content":"work"}}` + "\n"
	const call = `{"type":"assistant","timestamp":"2026-11-15T00:00:02Z","message":{"model":"m","stop_reason":"tool_use","content":[{"type":"tool_use","id":"1","name":"Bash","input":{}}]}}` + "\n"
	s := resume.Session{
		Key: resume.Key{Agent: Name, ID: claudetest.Session}, Transcript: filepath.Join(home, "s.jsonl"),
		Origin: &resume.Origin{Process: resume.Process{PID: 7}},
	}
	for _, c := range []struct {
		status, lines string
		open          bool
		end           resume.End
	}{
		{"", prompt, false, resume.Vanished},
		{"", prompt + call, true, resume.Vanished},
		{"busy", prompt, true, resume.Killed},
		{"idle", prompt, false, resume.Killed},
		{"idle", prompt + call, false, resume.Killed},
		{"waiting", prompt + call, true, resume.Killed},
	} {
		require.NoError(t, os.WriteFile(s.Transcript, []byte(c.lines), 0o600))
		if c.status != "" {
			claudetest.Register(t, home, "7.json", claudetest.Registered(7, claudetest.Session, "100", `,"status":"`+c.status+`"`))
		}
		_, open, err := a.OpenTurn(t.Context(), s)
		require.NoError(t, err)
		require.Equal(t, c.open, open, c)
		require.Equal(t, c.end, a.Ended(s), c)
	}
}

func TestWhatASessionAndItsSubagentsWrite(t *testing.T) {
	a, err := New(Options{Roots: []string{t.TempDir()}})
	require.NoError(t, err)
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "s.jsonl"), filepath.Join(dir, "s/subagents/agent-1.jsonl"), filepath.Join(dir, "agent-2.jsonl")}
	for _, file := range append(files, filepath.Join(dir, "other.jsonl"), filepath.Join(dir, "other/subagents/agent-3.jsonl")) {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
	}
	require.Equal(t, files, a.Records(resume.Session{Transcript: files[0]}))
}
