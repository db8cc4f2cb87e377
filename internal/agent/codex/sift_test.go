package codex

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
)

// A line is worth the same however it is written: the short way through a line as Codex
// writes it leads where the long one does.
func TestALineIsWorthTheSameWithSpacesInIt(t *testing.T) {
	files, err := filepath.Glob("testdata/rollouts/*.jsonl")
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
			require.Equal(t, sift(long), sift(line), "%s", line)
			worth[sift(line)]++
		}
	}
	require.Len(t, worth, 3, "there were lines of each weight")
}

func TestOnlyAWindowThatIsUsedUpIsWorthReading(t *testing.T) {
	for used, want := range map[string]agent.Weight{
		"99.9": agent.Nothing, "100": agent.Matters, "100.0": agent.Matters, "7": agent.Nothing, "250": agent.Matters,
	} {
		require.Equal(t, want, sift([]byte(windows(used+"@1794704327", "", ""))), used)
		require.Equal(t, want, sift([]byte(windows("1@1794704327", used+"@1794704327", ""))), used)
	}
}
