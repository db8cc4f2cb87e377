package watch

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Where each watched file has to be kept open, as on macOS, thousands of transcripts
// must not use up what the daemon may open: the rest is looked at by the clock, and that
// is said once.
func TestDirectoriesThatCannotBeAffordedAreLookedAtByTheClock(t *testing.T) {
	root := t.TempDir()
	small, large := filepath.Join(root, "a"), filepath.Join(root, "b")
	mkdir(t, small)
	mkdir(t, large)
	write(t, filepath.Join(small, "1.log"), "one\n")
	for _, name := range []string{"1.log", "2.log", "3.log", "4.log"} {
		write(t, filepath.Join(large, name), "one\n")
	}
	var log bytes.Buffer
	held := &descriptors{most: 8} // the root with two, the small one with one: five
	r := watched(t, root, newSink(), func(w *Watcher) {
		w.log = slog.New(slog.NewTextHandler(&log, nil))
		w.descriptors, w.pause = held, 20*time.Millisecond
	})
	for _, path := range []string{filepath.Join(small, "1.log"), filepath.Join(large, "4.log")} {
		appendTo(t, path, "two\n")
		r.awaitLines(t, path, "one", "two")
	}
	r.stop()
	require.NotContains(t, log.String(), "path="+large)
	require.Equal(t, 1, strings.Count(log.String(), "raise ulimit -n"), log.String())
	require.Zero(t, held.sum, "what is not watched any more is not counted")
	require.Empty(t, held.held)
}

func TestWhatEventsCostIsCounted(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "1.log"), "")
	d := &descriptors{most: 3}
	require.True(t, d.take(root))
	require.True(t, d.take(root), "it is counted once")
	require.Equal(t, 2, d.sum)
	write(t, filepath.Join(root, "2.log"), "")
	require.True(t, d.take(root))
	write(t, filepath.Join(root, "3.log"), "")
	require.False(t, d.take(root), "it has grown")
	d.leave(root)
	d.leave(root)
	require.Zero(t, d.sum)
	require.True(t, (&descriptors{}).take(root), "Linux")
}
