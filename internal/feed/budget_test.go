package feed

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Most lines of a transcript are passed over: that must not cost any memory.
func TestALineIsWeighedWithoutMemory(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, name := range slices.Sorted(maps.Keys(captures)) {
		sift := knows(t, name).Sources()[0].Sift
		files, err := filepath.Glob(captures[name])
		require.NoError(t, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			for line := range bytes.Lines(data) {
				line = bytes.TrimSpace(line)
				require.Zero(t, testing.AllocsPerRun(1, func() { sift(line) }), "%s: %s", file, line)
			}
		}
	}
}

// What a new transcript costs are a few small things.
func TestTheFirstSightOfAFileCostsLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TRIED: without -short it is")
	}
	const budget = 150 // allocations, one record parsed among them
	t.Setenv("HOME", t.TempDir())
	for _, name := range slices.Sorted(maps.Keys(captures)) {
		dir := t.TempDir()
		text := shortTranscript(t, knows(t, name), captures[name])
		measure := func(files int) float64 {
			for n := range files {
				require.NoError(t, os.WriteFile(place(t, dir, n), text, 0o600))
			}
			return testing.AllocsPerRun(1, func() { require.Len(t, readAll(t, knows(t, name), dir, nil), files) })
		}
		const few, more = 100, 100 // one in each directory
		first := measure(few)
		each := (measure(few+more) - first) / more
		t.Logf("%s: %.0f allocations", name, each)
		require.Less(t, each, float64(budget), name)
	}
}

// Reading on in a long transcript costs memory for what is parsed, not for what is
// passed over.
func TestLinesThatArePassedOverCostNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TRIED: without -short it is")
	}
	t.Setenv("HOME", t.TempDir())
	for _, name := range slices.Sorted(maps.Keys(captures)) {
		dir := t.TempDir()
		text := shortTranscript(t, knows(t, name), captures[name])
		path := place(t, dir, 0)
		measure := func(times int) float64 {
			require.NoError(t, os.WriteFile(path, append(bytes.Clone(text), bytes.Repeat(answers(text, knows(t, name)), times)...), 0o600))
			return testing.AllocsPerRun(1, func() { readAll(t, knows(t, name), dir, beginning(t)) })
		}
		short, long := measure(10), measure(1000)
		require.Less(t, long-short, 1500.0, "%s: for 990 times as many answers", name)
	}
}
