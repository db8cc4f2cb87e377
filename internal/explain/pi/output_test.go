package pi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/headless"
	"resumed/internal/limit"
)

func TestWhatARunPrintsTellsHowItEnded(t *testing.T) {
	agenttest.Runs(t, Reader, map[string]agenttest.Printed{
		"auth401.jsonl": {Session: "01a1ea0f-e995-7670-8926-d2a5a89f9c71", Cwd: "/home/u/src/shop", Class: limit.Auth},
		"ok.jsonl":      {Session: "01a1ea0f-e2aa-7764-89f6-eefdc093742b", Cwd: "/home/u/src/shop"},
	})
	const anybodys = `{"type":"message_end","message":{"role":"assistant","stopReason":"error","errorMessage":"429"}}`
	_, ok := agenttest.Reader(Reader).Recorded(headless.Recording{Text: anybodys, At: agenttest.CopiedAt})
	require.False(t, ok, "a record without a session is anybody's")
}

func TestTheLastLineOfARunTellsWhyItFailed(t *testing.T) {
	const refused = `429: {"message":"Rate limit reached for requests","type":"requests","param":null,"code":"rate_limit_exceeded"}`
	for text, want := range map[string]limit.Class{
		refused + "\n":                limit.RateLimit,
		"Warning: a word\n" + refused: limit.RateLimit,
		`529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n": limit.Overloaded,
		refused + "\nThat is what the log says.\n":                                                 limit.None,
		"The tests pass.\n": limit.None,
	} {
		report, ok := agenttest.Reader(Reader).Recorded(headless.Recording{Beside: text, At: agenttest.CopiedAt})
		require.Equal(t, want != limit.None, ok, text)
		if ok {
			require.Equal(t, want.String(), agenttest.ClassOf(report.Told[0].Event).String())
		}
	}
}

func TestSessionsAreRecognisedByTheirBeginning(t *testing.T) {
	agenttest.Recognised(t, Reader, "../../agent/pi", `{"type":"session","id":"1"}`)
}

func FuzzRecorded(f *testing.F) { agenttest.FuzzRecorded(f, Reader) }
