package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
	"resumed/internal/termui"
)

func TestBackoffPrintsTheSchedule(t *testing.T) {
	b := newBox(t)
	out, errOut, code := b.run("backoff", "--seed", "7")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "default: exponential 30s…5m ±10%, 5 retries\nIt gives up after 5 tries without progress.\n"+
		"It counts for rate_limit, usage_limit, timeout, unknown, cut_off.\noutage counts for overloaded, server_error, network.\n")
	require.Contains(t, out, "27s … 33s")
	require.Contains(t, out, "4m30s … 5m30s")
	require.Contains(t, out, "█")
	for line := range strings.Lines(out) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 81, line)
		require.NotContains(t, line, "\x1b", "no colour where nobody sees it")
	}
	again, _, _ := b.run("backoff", "--seed", "7")
	require.Equal(t, out, again, "a seed makes it repeatable")
	other, _, _ := b.run("backoff", "--seed", "8")
	require.NotEqual(t, out, other)
}

// printed is the JSON output.
type printed struct {
	Version   int
	Name      string
	CountsFor []string `json:"counts_for"`
	Policy    map[string]any
	Delays    []struct {
		Attempt int
		Base    float64 `json:"base_seconds"`
		Min     float64 `json:"min_seconds"`
		Max     float64 `json:"max_seconds"`
		Delay   float64 `json:"delay_seconds"`
	}
	Total float64 `json:"total_seconds"`
}

func (b *box) schedule(args ...string) printed {
	b.t.Helper()
	out, errOut, code := b.run(append([]string{"backoff", "--json"}, args...)...)
	require.Zero(b.t, code, errOut)
	var s printed
	require.NoError(b.t, json.Unmarshal([]byte(out), &s))
	return s
}

func TestBackoffForPrograms(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[backoff]\nbase_delay = \"4s\"\n[[backoff.policy]]\nname = \"mine\"\nmax_delay = \"9s\"\n")
	s := b.schedule("--seed", "3")
	require.Equal(t, 1, s.Version)
	require.Equal(t, "4s", s.Policy["base_delay"], "[backoff] of the file")
	require.Len(t, s.Delays, 5)
	total := 0.0
	for i, d := range s.Delays {
		require.Equal(t, i+1, d.Attempt)
		require.InDelta(t, d.Base*0.9, d.Min, 1e-9)
		require.InDelta(t, d.Base*1.1, d.Max, 1e-9)
		require.GreaterOrEqual(t, d.Delay, d.Min)
		require.LessOrEqual(t, d.Delay, d.Max)
		total += d.Delay
	}
	require.InDelta(t, total, s.Total, 1e-6)

	s = b.schedule("--policy", "mine", "--attempts", "9", "--jitter=false", "--strategy", "linear")
	require.Len(t, s.Delays, 9)
	require.Equal(t, 8.0, s.Delays[1].Delay)
	require.Equal(t, 9.0, s.Delays[8].Delay, "the cap of the file's own policy")
	require.EqualValues(t, 5, s.Policy["max_retries"], "attempts says what to print, not what the policy is")

	require.Equal(t, []any{"mine", []string{}}, []any{s.Name, s.CountsFor})

	s = b.schedule("--policy", "contention", "--hard-cap", "--max-exponent", "1", "--base-delay", "1m", "--max-delay", "1d", "--jitter-mode", "full", "--jitter-percent", "0.25", "--max-retries", "2")
	require.Equal(t, map[string]any{
		"strategy": "exponential", "base_delay": "1m", "max_delay": "24h", "max_retries": 2.0, "max_elapsed": "0s", "jitter": true,
		"jitter_mode": "full", "jitter_percent": 0.25, "hard_cap": true, "max_exponent": 1.0,
	}, s.Policy)
	require.Len(t, s.Delays, 2)
	require.Zero(t, s.Delays[0].Min)
	require.Equal(t, 120.0, s.Delays[1].Max)
}

func TestBackoffTellsEveryMistakeAtOnce(t *testing.T) {
	b := newBox(t)
	out, errOut, code := b.run("backoff", "--policy", "nope", "--base-delay", "30", "--jitter-percent", "7", "--attempts", "0",
		"--seed", "x", "--strategy", "wild", "--max-retries", "0", "--hard-cap=maybe")
	require.Equal(t, exitUsage, code)
	require.Empty(t, out)
	for _, part := range []string{
		"--policy", "contention", "--base-delay \"30\"", "--jitter-percent 7", "--attempts", "--seed", "--strategy \"wild\"",
		"--max-retries 0", "--hard-cap", "Try:",
	} {
		require.Contains(t, errOut, part)
	}
	_, errOut, _ = b.run("backoff", "--base-delay", "1x", "--max-delay", "10s")
	require.NotContains(t, errOut, "--max-delay", "what follows from a mistake is not a second one")
	_, errOut, code = b.run("backoff", "--jitter", "false")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "--jitter=false")
}

func TestPolicyNamesComplete(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[[backoff.policy]]\nname = \"mine\"\n")
	for _, command := range []string{"backoff", "exec"} {
		out, _, _ := b.run("__complete", command, "--policy", "")
		require.Contains(t, out, "mine\t")
		require.Contains(t, out, "workflow\t")
	}
}

func TestThePlotFitsANarrowTerminal(t *testing.T) {
	p := &termui.Printer{Renderer: termui.Renderer{Width: 50}}
	policy := backoff.Default()
	plotSchedule(p, backoff.NewSchedule(policy, policy.MaxRetries, func() float64 { return 0.99 }))
	bars, _, _ := strings.Cut(p.String(), "\n\n")
	require.Contains(t, bars, "5m")
	require.NotContains(t, bars, "…")
}
