package kimi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/headless"
	"resumed/internal/limit"
)

func TestWhatARunPrintsTellsHowItEnded(t *testing.T) {
	agenttest.Runs(t, Reader, map[string]agenttest.Printed{
		"auth401.txt":       {Class: limit.Auth, Line: 2},
		"allowance_403.txt": {Class: limit.UsageLimit, Line: 2},
		"overloaded.txt":    {Class: limit.Overloaded, Line: 2},
		"throttled.txt":     {Class: limit.RateLimit, Line: 2},
	})
	_, ok := agenttest.Reader(Reader).Recorded(headless.Recording{
		Text: "• All done.\n", Beside: "kimi version 2.1.0\nTo resume this session: kimi -r x\n", At: agenttest.CopiedAt,
	})
	require.False(t, ok, "a run that came to an end says nothing of a failure")
}

func TestRecordsAreRecognisedByTheirBeginning(t *testing.T) {
	agenttest.Recognised(t, Reader, "../../agent/kimi", `{"type":"metadata","version":1}`)
}

func FuzzRecorded(f *testing.F) { agenttest.FuzzRecorded(f, Reader) }
