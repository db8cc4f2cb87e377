package runfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// world is a state directory. The session s-1 is in its first resume.
type world struct {
	t     *testing.T
	store *Store
}

func newWorld(t *testing.T) world { return world{t, New(t.TempDir())} }

// printedBefore writes an output of a session that is that old.
func (w world) printedBefore(id string, n int, text string, ago time.Duration) string {
	dir, err := w.store.claim(outputs, resume.Key{Agent: "fake", ID: id})
	require.NoError(w.t, err)
	path := filepath.Join(dir, fmt.Sprint(n, ".log"))
	require.NoError(w.t, os.WriteFile(path, []byte(text), 0o600))
	at := time.Now().Add(-ago)
	for _, name := range []string{path, filepath.Join(dir, agentFile), dir} {
		require.NoError(w.t, os.Chtimes(name, at, at))
	}
	return path
}

func (w world) prune(keep time.Duration, maxBytes int64) {
	running := func(key resume.Key) (int, error) {
		if key.ID == "s-1" {
			return 1, nil
		}
		return 0, nil
	}
	require.NoError(w.t, w.store.Prune(keep, maxBytes, time.Now(), running))
}

const day = 24 * time.Hour

func TestOutputsOfSessionsThatWereLongNotResumedGo(t *testing.T) {
	w := newWorld(t)
	w.prune(day, 1<<20) // there are no files yet
	old, young := w.printedBefore("old", 1, "x", 2*day), w.printedBefore("young", 1, "x", time.Hour)
	both := w.printedBefore("both", 1, "x", 2*day)
	w.printedBefore("both", 2, "x", time.Hour)
	runs := w.printedBefore("s-1", 1, "silent for long", 2*day)
	w.prune(day, 1<<20)
	require.NoDirExists(t, filepath.Dir(old))
	require.FileExists(t, young)
	require.FileExists(t, both, "those of one session go together")
	require.FileExists(t, runs, "a command writes to it")

	key := resume.Key{Agent: "fake", ID: "old"}
	dir, err := w.store.claim(outputs, key)
	require.NoError(t, err)
	w.prune(day, 1<<20)
	require.Equal(t, "fake", agentOf(dir), "who has just taken it will write to it")
}

func TestTheOldestOutputsGoWhereAllTakeTooMuch(t *testing.T) {
	w := newWorld(t)
	var paths []string
	for i := range 10 {
		paths = append(paths, w.printedBefore(fmt.Sprint("s", i%3), i, strings.Repeat("x", 1000), time.Duration(10-i)*time.Hour))
	}
	runs := w.printedBefore("s-1", 1, strings.Repeat("x", 1000), 20*time.Hour)
	w.prune(day, 5000)
	for _, path := range paths[:6] {
		require.NoFileExists(t, path)
	}
	for _, path := range append(paths[6:], runs) {
		require.FileExists(t, path)
	}
}

// The output of a command that prints without end is cut while the command runs on.
func TestTheEndOfALargeOutputStays(t *testing.T) {
	w := newWorld(t)
	path := w.printedBefore("s-1", 1, "", 0)
	writer, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer writer.Close()
	for i := range 1000 {
		fmt.Fprintf(writer, "line %d\n", i)
	}
	w.prune(day, 1<<20)
	require.NotContains(t, w.read(path), "cut off")
	w.prune(day, 16<<10)
	fmt.Fprintln(writer, "line 1000")
	text := w.read(path)
	require.LessOrEqual(t, len(text), 2<<10+100)
	first, rest, _ := strings.Cut(text, "\n")
	require.Regexp(t, `^\[resumed has cut off the \d+ bytes before this\]$`, first)
	require.Regexp(t, `^line \d+\n`, rest, "whole lines")
	require.True(t, strings.HasSuffix(text, "line 999\nline 1000\n"), text)
}

func (w world) read(path string) string {
	data, err := os.ReadFile(path)
	require.NoError(w.t, err)
	return string(data)
}
