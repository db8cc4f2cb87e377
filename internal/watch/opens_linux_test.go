package watch

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// opens counts how often each file of a directory is opened, by its name. The kernel tells
// of it before who opens the file goes on.
func opens(t *testing.T, dir string) func() map[string]int {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	_, err = unix.InotifyAddWatch(fd, dir, unix.IN_OPEN)
	require.NoError(t, err)
	return func() map[string]int {
		counts := make(map[string]int)
		room := make([]byte, 1<<20)
		for {
			n, err := unix.Read(fd, room)
			if err != nil {
				require.ErrorIs(t, err, unix.EAGAIN)
				return counts
			}
			for told := room[:n]; len(told) > 0; {
				long := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(told[12:]))
				if name := bytes.TrimRight(told[unix.SizeofInotifyEvent:long], "\x00"); len(name) > 0 {
					counts[string(name)]++
				}
				told = told[long:]
			}
		}
	}
}

// A start opens what is new once, and what has rested for long not at all, however large it
// is: with gigabytes of old transcripts it takes no longer.
func TestAStartOpensWhatIsNewOnceAndWhatIsOldNotAtAll(t *testing.T) {
	root, s := t.TempDir(), newSink()
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{"old1.log", "old2.log", "old3.log"} {
		path := filepath.Join(root, name)
		write(t, path, "one\n")
		require.NoError(t, os.Truncate(path, 1<<30))
		require.NoError(t, os.Chtimes(path, old, old))
	}
	write(t, filepath.Join(root, "new.log"), "one\ntwo\n")
	write(t, filepath.Join(root, "large.log"), "one\n")
	require.NoError(t, os.Truncate(filepath.Join(root, "large.log"), 1<<30))
	appendTo(t, filepath.Join(root, "large.log"), "\ntwo\n")
	write(t, filepath.Join(root, "other.txt"), "one\n")
	mkfifo(t, filepath.Join(root, "pipe.log")) // to open it would wake who writes to it

	count := opens(t, root)
	r := watched(t, root, s, func(w *Watcher) {
		w.opts.Since = func() time.Time { return time.Now().Add(-time.Hour) }
	})
	require.Equal(t, map[string]int{"new.log": 1, "large.log": 1}, count())
	require.Equal(t, "two", string(r.of(r.path("large.log"))[0].Lines[0].Data))
	r.stop()

	s.set(func() { s.batches = nil })
	watched(t, root, s, func(w *Watcher) {
		w.opts.Since = func() time.Time { return time.Now().Add(-time.Hour) }
	})
	require.Empty(t, count(), "nothing has changed since")
	require.Empty(t, s.batches)
}
