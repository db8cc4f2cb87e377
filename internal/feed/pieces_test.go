package feed

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/watch"
)

// A transcript is read as it grows, and a read ends anywhere: within a line, a name, a
// character. In whatever pieces it comes, and whichever daemon reads them, it tells the same.
func TestReadingInPiecesTellsWhatEveryLineTells(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TRIED: without -short it is")
	}
	t.Setenv("HOME", t.TempDir())
	for _, name := range slices.Sorted(maps.Keys(captures)) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			paths := histories(t, dir, captures[name])
			whole := make(map[string][]byte)
			for _, path := range paths {
				whole[path] = contents(t, path)
				require.NoError(t, os.Truncate(path, 0))
			}
			got := make(map[string][]resume.Observation)
			pieceByPiece(t, name, dir, whole, got)
			for _, path := range paths {
				want := told(everyLine(t, knows(t, name), path), 0)
				require.Equal(t, want, told(got[path], 0), "%s:\n%s", path, whole[path])
			}
		})
	}
}

// pieceByPiece lets all files grow a few times, and a new daemon read them each time from
// where the last one came to.
func pieceByPiece(t *testing.T, name, dir string, whole map[string][]byte, got map[string][]resume.Observation) {
	const pieces = 4
	dice := rand.New(rand.NewPCG(5, 6))
	cursors := make(map[string]watch.Cursor)
	known := func(path string) (watch.Cursor, bool) {
		if cursor, ok := cursors[path]; ok {
			return cursor, true
		}
		return beginning(t)(path)
	}
	keep := func(path string, cursor json.RawMessage) {
		var at watch.Cursor
		require.NoError(t, json.Unmarshal(cursor, &at))
		cursors[path] = at
	}
	for piece := range pieces {
		for _, path := range slices.Sorted(maps.Keys(whole)) {
			grow(t, path, whole[path], piece == pieces-1, dice)
		}
		for path, seen := range readBy(t, knows(t, name), dir, known, keep) {
			got[path] = append(got[path], seen...)
		}
	}
}

// grow appends some of what is missing of a file, or all.
func grow(t *testing.T, path string, whole []byte, all bool, dice *rand.Rand) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	rest := whole[info.Size():]
	if !all {
		rest = rest[:dice.IntN(len(rest)+1)]
	}
	_, err = f.Write(rest)
	require.NoError(t, err)
}
