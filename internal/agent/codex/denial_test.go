package codex

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
		call    = `{"timestamp":"2026-11-15T05:10:00Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"c2"}}`
		result  = `{"timestamp":"2026-11-15T05:10:01Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c2","output":"Process exited with code 0\nOutput:\nRead-only file system"}}`
		printed = `{"timestamp":"2026-11-15T05:10:01Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c2","output":"Process exited with code 1\nOutput:\napproval policy is Never"}}`
		free    = `{"timestamp":"2026-11-15T05:10:00Z","type":"turn_context","payload":{"sandbox_policy":{"type":"danger-full-access"}}}`
		full    = `{"timestamp":"2026-11-15T05:10:02Z","type":"event_msg","payload":{"type":"task_complete","error":{"message":"capacity","codex_error_info":"server_overloaded"}}}`
		patch   = `{"timestamp":"2026-11-15T05:10:03Z","type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch","call_id":"c3"}}`
		refuse  = `{"timestamp":"2026-11-15T05:10:04Z","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c3","output":"patch rejected: writing outside of the project; rejected by user approval settings"}}`
	)
	echo := agent.Denial{Tool: "exec_command", Use: "echo two >> work.txt"}.String()
	cases := map[string]struct {
		file  string
		since time.Time
		more  []string
		want  string // empty: none
	}{
		"asked for more than the sandbox":    {"denied-escalation.jsonl", began, nil, echo},
		"failed in the sandbox":              {"denied-sandbox.jsonl", began, nil, echo},
		"a patch outside of it":              {"denied-sandbox.jsonl", began, []string{patch, refuse}, agent.Denial{Tool: "apply_patch"}.String()},
		"of an earlier run":                  {"denied-sandbox.jsonl", began.Add(time.Hour), nil, ""},
		"gone around":                        {"denied-escalation.jsonl", began, []string{call, result}, ""},
		"words that a command printed":       {"denied-escalation.jsonl", began, []string{call, printed}, ""},
		"a read-only disk without a sandbox": {"denied-sandbox.jsonl", began, []string{free}, ""},
		"a limit was met after it":           {"denied-escalation.jsonl", began, []string{full}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, found := agenttest.Denied(t, newAgent(t, Options{}), c.file, c.since, "", c.more...)
			require.Equal(t, c.want != "", found)
			if found {
				require.Equal(t, c.want, got.String())
			}
		})
	}
}
