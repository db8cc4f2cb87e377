package gemini

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
		worked = `{"id":"x","timestamp":"2026-11-15T05:10:00Z","type":"gemini","content":"","toolCalls":[{"id":"y","name":"read_file","args":{},"status":"success","result":[]}]}`
		limit  = `{"id":"z","timestamp":"2026-11-15T05:10:01Z","type":"error","content":[{"text":"[API Error: You have exhausted your capacity on this model.]"}]}`
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
			got, found := agenttest.Denied(t, newAgent(t, agent.Options{}), "denied.jsonl", c.since, "", c.more...)
			require.Equal(t, c.want, found)
			if found {
				require.Equal(t, agent.Denial{Tool: "run_shell_command", Use: "echo two >> work.txt"}.String(), got.String())
			}
		})
	}
}
