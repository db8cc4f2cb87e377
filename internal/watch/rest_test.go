package watch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A cursor that would not fit tells whether the file was opened.
func TestAFileThatWasReadToItsEndIsNotOpenedAgain(t *testing.T) {
	root, s := t.TempDir(), newSink()
	path, half := filepath.Join(root, "a.log"), filepath.Join(root, "half.log")
	write(t, path, "one\n")
	write(t, half, "one\ntw")
	watched(t, root, s, nil).stop()
	for _, path := range []string{path, half} {
		c := s.cursors[path]
		c.Head++
		s.cursors[path] = c
	}
	require.Zero(t, s.cursors[half].Size, "it was not read to its end")

	r := watched(t, root, s, nil)
	r.awaitLines(t, half, "one", "one")
	r.awaitLines(t, path, "one")
	appendTo(t, path, "two\n")
	r.awaitLines(t, path, "one", "one", "two")
}

func TestAFileThatChangedIsOpenedAgain(t *testing.T) {
	root, s := t.TempDir(), newSink()
	path := filepath.Join(root, "a.log")
	write(t, path, "one\n")
	watched(t, root, s, nil).stop()
	require.NoError(t, os.WriteFile(path, []byte("two\n"), 0o600)) // as long as it was
	require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(time.Second)))
	r := watched(t, root, s, nil)
	r.awaitLines(t, path, "one", "two")
}

// rested starts a watcher that leaves what is older than an hour unread, on a
// directory with one such file.
func rested(t *testing.T, text string) (*rig, string) {
	root, s := t.TempDir(), newSink()
	path := filepath.Join(root, "old.log")
	write(t, path, text)
	old := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
	write(t, filepath.Join(root, "new.log"), "new\n")
	r := watched(t, root, s, func(w *Watcher) {
		w.opts.Since = func() time.Time { return time.Now().Add(-time.Hour) }
	})
	r.awaitLines(t, r.path("new.log"), "new")
	require.Empty(t, s.of(path), "not even a cursor is kept")
	return r, path
}

func TestAnOldFileIsReadWhenItMovesAndFromThereOn(t *testing.T) {
	r, path := rested(t, "one\ntwo\n")
	appendTo(t, path, "three\n")
	r.awaitLines(t, path, "three")
	batch := r.of(path)[0]
	require.True(t, batch.Late, "its beginning was not seen")
	require.False(t, batch.Back)
	require.Equal(t, int64(len("one\ntwo\n")), batch.Lines[0].Offset)
	appendTo(t, path, "four\n")
	r.awaitLines(t, path, "three", "four")
	require.Len(t, epochs(r.of(path)), 1)
}

func TestAnOldFilesUnfinishedLineIsReadWhenItIsFinished(t *testing.T) {
	r, path := rested(t, "one\ntw")
	appendTo(t, path, "o\n")
	r.awaitLines(t, path, "two")
}

func TestAnOldFilesLineOfMoreThanABlockIsReadWhenItIsFinished(t *testing.T) {
	long := strings.Repeat("x", blockSize+1)
	r, path := rested(t, long)
	appendTo(t, path, "\nnext\n")
	r.awaitLines(t, path, long, "next")
}

func TestAnOldFileThatIsRenamedRestsOn(t *testing.T) {
	r, path := rested(t, "one\n")
	require.NoError(t, os.Rename(path, r.path("renamed.log")))
	r.settle(t)
	require.Empty(t, r.lines(r.path("renamed.log")))
	appendTo(t, r.path("renamed.log"), "two\n")
	r.awaitLines(t, r.path("renamed.log"), "two")
}

func TestAnOldFileThatIsReplacedIsReadWhole(t *testing.T) {
	r, path := rested(t, "one\n")
	write(t, r.path("other"), "two\nthree\nfour\n")
	require.NoError(t, os.Rename(r.path("other"), path))
	r.awaitLines(t, path, "two", "three", "four")
}

func TestAnOldFileThatIsCutShortIsReadWhole(t *testing.T) {
	r, path := rested(t, "one\ntwo\n")
	write(t, path, "three\n")
	r.awaitLines(t, path, "three")
}

func TestWhatIsHeldAreTheLinesOfTheBatchAndThoseBefore(t *testing.T) {
	root, s := t.TempDir(), newSink()
	path := filepath.Join(root, "a.log")
	text := strings.Repeat("filler\n", 3) + "one\n" + strings.Repeat("filler\n", 2) + "two\n"
	write(t, path, text)
	var held []string
	s.refuse = func(b Batch) error {
		require.True(t, b.Info.Mode().IsRegular())
		for _, line := range b.Lines {
			require.Equal(t, string(line.Data)+"\n", string(b.Block[line.Offset-b.BlockAt:line.End-b.BlockAt]))
			held = append(held, string(b.Block[:line.Offset-b.BlockAt]))
		}
		return nil
	}
	watched(t, root, s, func(w *Watcher) { w.opts.Sift = containing("one", "two") })
	require.Equal(t, []string{text[:21], text[:39]}, held)
}
