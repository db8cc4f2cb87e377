package gemini

import (
	"testing"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
)

func TestADenialThatEndedTheTurnIsFound(t *testing.T) {
	began := time.Date(2026, 11, 15, 5, 0, 0, 0, time.UTC)
	const (
		worked = `{"id":"x","timestamp":"2026-11-15T05:10:00Z","type":"gemini","content":"","toolCalls":[{"id":"y","name":"read_file","args":{},"status":"success","result":[]}]}`
		limit  = `{"id":"z","timestamp":"2026-11-15T05:10:01Z","type":"error","content":[{"text":"[API Error: You have exhausted your capacity on this model.]"}]}`
	)
	agenttest.Denials(t, newAgent(t, agent.Options{}), began, worked, limit, agent.Denial{Tool: "run_shell_command", Use: "echo two >> work.txt"})
}

func TestTheSizeOfTheContextIsReadFromTheLastAnswer(t *testing.T) {
	agenttest.Weighs(t, newAgent(t, agent.Options{}), "testdata/chats/headless_killed_then_resumed_tool.jsonl", 15, time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC))
}
