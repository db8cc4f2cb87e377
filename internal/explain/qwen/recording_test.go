package qwen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/headless"
	"resumed/internal/limit"
)

func TestWhatARunPrintsTellsHowItEnded(t *testing.T) {
	agenttest.Runs(t, Reader, map[string]agenttest.Printed{
		"0.15.10-auth401.jsonl":  {Session: "a1625c6c-82e3-4c4a-8be3-d402ce1d40fb", Class: limit.Auth},
		"0.15.10-ok.jsonl":       {Session: "90145fbb-f164-420d-b85f-cfa5370efd0e"},
		"0.24.4-auth401.jsonl":   {Session: "794d5a94-12a6-4c67-a0bd-7ea258496760", Class: limit.Auth},
		"0.24.4-ok.jsonl":        {Session: "c4215749-34cf-486d-87bb-9d4685532c82"},
		"0.24.4-usage_far.jsonl": {Session: "6e6faec3-9b19-4907-bdc9-bf24ad0a6e68"}, // killed before it printed anything
	})
}

func TestPlainTextTellsOfAFailureAsItsLastLine(t *testing.T) {
	r := agenttest.Reader(Reader)
	told, ok := r.Printed(headless.Recording{Text: "[API Error: 401 Incorrect API key provided: dummy.]\n", At: agenttest.CopiedAt})
	require.True(t, ok)
	require.Equal(t, limit.Auth, agenttest.ClassOf(told.Event))
	_, ok = r.Printed(headless.Recording{Text: "The text [API Error: 401] means that a key is wrong.", At: agenttest.CopiedAt})
	require.False(t, ok)
}

func TestChatsAreRecognisedByTheirBeginning(t *testing.T) {
	agenttest.Recognised(t, Reader, "../../agent/qwen", `{"type":"user","sessionId":"1f5b6930-90d5-42d3-b422-4a4abfc38b59",`+
		`"uuid":"6d804a60-8772-4f41-bd83-af79b5db3f2c","version":"2.1.3","message":{"role":"user","content":"hi"}}`)
}

func FuzzRecorded(f *testing.F) { agenttest.FuzzRecorded(f, Reader) }
