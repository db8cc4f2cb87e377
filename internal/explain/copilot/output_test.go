package copilot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/headless"
	"resumed/internal/limit"
)

func TestWhatARunPrintsTellsHowItEnded(t *testing.T) {
	agenttest.Runs(t, Reader, map[string]agenttest.Printed{
		"auth401.jsonl": {Session: "0b5aa8b0-d8d4-4e7d-9dbe-92d823b6be3c", Class: limit.Auth},
		"ok.jsonl":      {Session: "01b6b137-e2de-4fb7-a6de-29cbe2f64a0f"},
	})
	_, ok := agenttest.Reader(Reader).Recorded(headless.Recording{Text: `{"type":"session.error","data":{"message":"429"}}`, At: agenttest.CopiedAt})
	require.False(t, ok, "a record without an id is anybody's")
}

func TestEventsAreRecognisedByTheirBeginning(t *testing.T) {
	agenttest.Recognised(t, Reader, "../../agent/copilot", `{"type":"session.start","data":{"sessionId":"1f5b6930-90d5-42d3-b422-4a4abfc38b59"}}`)
}

func FuzzRecorded(f *testing.F) { agenttest.FuzzRecorded(f, Reader) }
