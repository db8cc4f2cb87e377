package claude

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
		call   = `{"type":"assistant","timestamp":"2026-11-15T05:10:00Z","message":{"model":"m","content":[{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"a"}}]}}`
		result = `{"type":"user","timestamp":"2026-11-15T05:10:01Z","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"ok"}]}}`
		failed = `{"type":"user","timestamp":"2026-11-15T05:10:01Z","message":{"content":[{"type":"tool_result","is_error":true,"tool_use_id":"t2","content":"Exit code 1\nthis requires approval"}]}}`
		broken = `{"type":"user","timestamp":"2026-11-15T05:10:01Z","toolDenialKind":"interrupted","message":{"content":[{"type":"tool_result","is_error":true,"tool_use_id":"t2","content":"x"}]}}`
		asks   = `{"type":"user","timestamp":"2026-11-15T05:10:01Z","message":{"content":[{"type":"tool_result","is_error":true,"tool_use_id":"t2","content":"Claude requested permissions to write to a, but you haven't granted it yet."}]}}`
		limit  = `{"type":"assistant","timestamp":"2026-11-15T05:10:02Z","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: 529 Overloaded"}]}}`
	)
	bash := agent.Denial{Tool: "Bash", Use: "echo two >> work.txt"}
	cases := map[string]struct {
		file  string
		since time.Time
		more  []string
		want  string // empty: none
	}{
		"by its mark":                         {"denied.jsonl", began, nil, bash.String()},
		"by its words":                        {"denied-2.1.197.jsonl", began, nil, bash.String()},
		"in other words":                      {"denied.jsonl", began, []string{call, asks}, agent.Denial{Tool: "Read", Use: "a"}.String()},
		"of an earlier run":                   {"denied.jsonl", began.Add(time.Hour), nil, ""},
		"gone around":                         {"denied.jsonl", began, []string{call, result}, ""},
		"gone around with a tool that failed": {"denied.jsonl", began, []string{call, failed}, ""},
		"a tool that a person broke off":      {"denied.jsonl", began, []string{call, broken}, ""},
		"beside a tool that was allowed":      {"denied.jsonl", began, []string{result}, bash.String()},
		"a limit was met after it":            {"denied.jsonl", began, []string{limit}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, found := agenttest.Denied(t, newAgent(t, Options{}), c.file, c.since, "", c.more...)
			require.Equal(t, c.want != "", found)
			if found {
				require.Equal(t, c.want, got.String())
				require.Contains(t, got.String(), "refused permission to use "+got.Tool)
			}
		})
	}
}

func TestARunsResultTellsWhereItsTranscriptDoesNot(t *testing.T) {
	const result = "Warning: x\n" + `{"type":"result","is_error":false,"permission_denials":[{"tool_name":"Write","tool_input":{"file_path":"/a"}}]}` + "\n"
	later := time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)
	const answer = `{"type":"assistant","timestamp":"2026-11-15T06:10:00Z","message":{"model":"m","content":[{"type":"text","text":"I may not."}]}}`
	got, found := agenttest.Denied(t, newAgent(t, Options{}), "denied.jsonl", later, result, answer)
	require.True(t, found)
	require.Equal(t, agent.Denial{Tool: "Write", Use: "/a"}, got)
	_, found = agenttest.Denied(t, newAgent(t, Options{}), "denied.jsonl", later, `{"type":"result","permission_denials":[]}`, answer)
	require.False(t, found)
	_, found = agenttest.Denied(t, newAgent(t, Options{}), "denied.jsonl", later, "permission_denials", answer)
	require.False(t, found)
}
