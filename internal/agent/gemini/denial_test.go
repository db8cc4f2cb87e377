package gemini

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/lines"
)

func TestADenialThatEndedTheTurnIsFound(t *testing.T) {
	began := time.Date(2026, 11, 15, 5, 0, 0, 0, time.UTC)
	const (
		worked  = `{"id":"x","timestamp":"2026-11-15T05:10:00Z","type":"gemini","content":"","toolCalls":[{"id":"y","name":"read_file","args":{},"status":"success","result":[]}]}`
		refused = `{"id":"z","timestamp":"2026-11-15T05:10:01Z","type":"error","content":[{"text":"[API Error: You have exhausted your capacity on this model.]"}]}`
	)
	agenttest.Denials(t, newAgent(t, agent.Options{}), began, worked, refused, agent.Denial{Tool: "run_shell_command", Use: "echo two >> work.txt"})
}

// A chat has a call only together with its result, so no tool that was interrupted is found.
func TestNoCallIsOpen(t *testing.T) {
	text, err := os.ReadFile("testdata/chats/headless_killed_then_resumed_tool.jsonl")
	require.NoError(t, err)
	var called, done []string
	for line := range bytes.Lines(text) {
		said, _ := read(lines.Line{Data: line}, func(time.Time) limit.Reader { return limit.Reader{} })
		for _, call := range said.Calls {
			called = append(called, call.Tool+" "+call.ID)
		}
		for _, id := range said.Done {
			done = append(done, "run_shell_command "+id)
		}
	}
	require.NotEmpty(t, called)
	require.Equal(t, called, done)
}

func TestTheSizeOfTheContextIsReadFromTheLastAnswer(t *testing.T) {
	agenttest.Weighs(t, newAgent(t, agent.Options{}), "testdata/chats/headless_killed_then_resumed_tool.jsonl", 15, time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC))
}
