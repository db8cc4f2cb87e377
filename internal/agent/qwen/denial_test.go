package qwen

import (
	"testing"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
)

func TestADenialThatEndedTheTurnIsFound(t *testing.T) {
	began := time.Date(2026, 11, 15, 5, 0, 0, 0, time.UTC)
	const (
		worked = `{"timestamp":"2026-11-15T05:10:00Z","type":"assistant","message":{"role":"model","parts":[{"functionCall":{"id":"y","name":"read_file","args":{}}}]}}`
		limit  = `{"timestamp":"2026-11-15T05:10:01Z","type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_error","error_message":"429","status_code":429}}}`
	)
	agenttest.Denials(t, newAgent(t), began, worked, limit, agent.Denial{Tool: "Bash", Use: "echo two >> work.txt"})
}

func TestTheSizeOfTheContextIsReadFromTheLastAnswer(t *testing.T) {
	agenttest.Weighs(t, newAgent(t), "testdata/chats/0.24.4-flex_capacity.jsonl", 1020, time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC))
}
