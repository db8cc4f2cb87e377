package qwen

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
)

func TestADenialThatEndedTheTurnIsFound(t *testing.T) {
	began := time.Date(2026, 11, 15, 5, 0, 0, 0, time.UTC)
	const (
		worked = `{"timestamp":"2026-11-15T05:10:00Z","type":"assistant","message":{"role":"model","parts":[{"functionCall":{"id":"y","name":"read_file","args":{}}}]}}`
		limit  = `{"timestamp":"2026-11-15T05:10:01Z","type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_error","error_message":"429","status_code":429}}}`
	)
	cases := map[string]struct {
		since time.Time
		more  []string
		want  bool
	}{
		"the last thing":           {began, nil, true},
		"of an earlier run":        {began.Add(time.Hour), nil, false},
		"gone around":              {began, []string{worked}, false},
		"a limit was met after it": {began, []string{limit}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, found := agenttest.Denied(t, newAgent(t), "denied.jsonl", c.since, "", c.more...)
			require.Equal(t, c.want, found)
			if found {
				require.Equal(t, agent.Denial{Tool: "Bash", Use: "echo two >> work.txt"}.String(), got.String())
			}
		})
	}
}
