package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the real Claude Code had written when its process ended.
func TestWhetherATurnHasEnded(t *testing.T) {
	for name, want := range map[string]Turn{
		"sig-kill": TurnPrompted, "sig-hup": TurnPrompted, "sig-term": TurnPrompted, // the provider had not answered
		"i-cancel-in-retry": TurnPrompted, // it looks the same
		"p-ok":              TurnOver, "p529": TurnOver, "n-midhang": TurnOver, "i-cancel-esc": TurnOver, "n-maxtok": TurnOver, "n-refusal": TurnOver, "s-agent": TurnOver,
	} {
		t.Run(name, func(t *testing.T) {
			got, at, err := LastTurn(t.Context(), "../testdata/transcripts/"+name+".jsonl")
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.False(t, at.IsZero())
		})
	}
}

func TestWhatKeepsATurnOpen(t *testing.T) {
	const (
		prompt   = `{"type":"user","timestamp":"2026-11-15T00:00:01Z","message":{"role":"user","content":"work"}}`
		call     = `{"type":"assistant","timestamp":"2026-11-15T00:00:02Z","message":{"model":"m","stop_reason":"tool_use","content":[{"type":"tool_use","id":"1","name":"Bash","input":{}}]}}`
		early    = `{"type":"assistant","timestamp":"2026-11-15T00:00:02Z","message":{"model":"m","stop_reason":null,"content":[{"type":"tool_use","id":"1","name":"Bash","input":{}}]}}`
		thought  = `{"type":"assistant","timestamp":"2026-11-15T00:00:02Z","message":{"model":"m","stop_reason":null,"content":[{"type":"thinking","thinking":"hm"}]}}`
		text     = `{"type":"assistant","timestamp":"2026-11-15T00:00:02Z","message":{"model":"m","stop_reason":null,"content":[{"type":"text","text":"Done."}]}}`
		result   = `{"type":"user","timestamp":"2026-11-15T00:00:03Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"ok"}]}}`
		answer   = `{"type":"assistant","timestamp":"2026-11-15T00:00:04Z","message":{"model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"Done."}]}}`
		duration = `{"type":"system","subtype":"turn_duration","timestamp":"2026-11-15T00:00:04Z"}`
		exit     = `{"type":"user","timestamp":"2026-11-15T00:00:05Z","message":{"role":"user","content":"<command-name>/exit</command-name>"}}`
		usage    = `{"type":"user","timestamp":"2026-11-15T00:00:05Z","message":{"role":"user","content":"<command-name>/usage</command-name>"}}`
		stopped  = `{"type":"user","timestamp":"2026-11-15T00:00:05Z","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}`
		denied   = `{"type":"user","timestamp":"2026-11-15T00:00:05Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":"no"},{"type":"text","text":"[Request interrupted by user for tool use]"}]}}`
		side     = `{"type":"assistant","isSidechain":true,"timestamp":"2026-11-15T00:00:06Z","message":{"model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"Sub."}]}}`
		cost     = `{"type":"cost-state","timestamp":"2026-11-15T00:00:06Z","totalCostUSD":1}`
	)
	for rule, c := range map[string]struct {
		lines []string
		want  Turn
	}{
		"a prompt without an answer":                    {[]string{answer, prompt}, TurnPrompted},
		"a tool is called":                              {[]string{prompt, call}, TurnOpen},
		"a tool is called, and the reason is not known": {[]string{prompt, early}, TurnOpen},
		"a tool has answered":                           {[]string{prompt, call, result}, TurnOpen},
		"a thought":                                     {[]string{prompt, thought}, TurnOpen},
		"a text may be the last one":                    {[]string{prompt, text}, TurnOver},
		"the turn is over":                              {[]string{prompt, call, result, answer}, TurnOver},
		"it took some time":                             {[]string{prompt, text, duration}, TurnOver},
		"a command follows":                             {[]string{prompt, call, usage}, TurnOpen},
		"its user left it":                              {[]string{prompt, call, exit}, TurnOver},
		"its user interrupted it":                       {[]string{prompt, call, stopped}, TurnOver},
		"its user refused a tool":                       {[]string{prompt, call, denied}, TurnOver},
		"a subagent has answered":                       {[]string{prompt, call, side}, TurnOpen},
		"it was ended in good order":                    {[]string{prompt, call, cost}, TurnOpen},
		"nothing":                                       {nil, TurnOver},
	} {
		t.Run(rule, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(strings.Join(c.lines, "\n")+"\n"), 0o600))
			got, _, err := LastTurn(t.Context(), path)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	turn, _, err := LastTurn(t.Context(), "nowhere")
	require.Error(t, err)
	require.Equal(t, TurnOver, turn)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(prompt+"\n"+call+"\n"), 0o600))
	_, at, err := LastTurn(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 11, 15, 0, 0, 2, 0, time.UTC), at.UTC())
}
