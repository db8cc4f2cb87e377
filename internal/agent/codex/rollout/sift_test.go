package rollout

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
)

// A line has the same weight in every notation: the fast path for lines as Codex writes them gives the
// same result as the slow one.
func TestALineIsWorthTheSameWithSpacesInIt(t *testing.T) {
	files, err := filepath.Glob("../testdata/rollouts/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	worth := map[agent.Weight]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range bytes.Lines(data) {
			line = bytes.TrimSpace(line)
			var spaced bytes.Buffer
			require.NoError(t, json.Indent(&spaced, line, "", " "))
			long := bytes.ReplaceAll(spaced.Bytes(), []byte("\n"), nil)
			require.Equal(t, Sift(long), Sift(line), "%s", line)
			worth[Sift(line)]++
		}
	}
	require.Len(t, worth, 3, "there were lines of each weight")
}

func TestOnlyAWindowThatIsUsedUpIsWorthReading(t *testing.T) {
	for used, want := range map[string]agent.Weight{
		"99.9": agent.Nothing, "100": agent.Matters, "100.0": agent.Matters, "7": agent.Nothing, "250": agent.Matters,
	} {
		require.Equal(t, want, Sift(told(used, "null")), used)
		require.Equal(t, want, Sift(told("1", window(used))), used)
	}
}

func window(used string) string {
	return `{"used_percent":` + used + `,"window_minutes":300,"resets_at":1794704327}`
}

// told is the record of the state of the windows.
func told(used, secondary string) []byte {
	return []byte(`{"timestamp":"2026-11-15T00:00:00.000Z","type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":{"primary":` +
		window(used) + `,"secondary":` + secondary + `}}}`)
}
