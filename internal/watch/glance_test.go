package watch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"
)

// last judges a batch by its last line, and tells it.
func last(b Batch) (any, bool) {
	if len(b.Lines) == 0 {
		return nil, false
	}
	return string(b.Lines[len(b.Lines)-1].Data), true
}

// However many look ahead, files are delivered in the order in which they would have been
// read: those that changed last first.
func TestFilesThatAreLookedAtAheadAreDeliveredInTheirOrder(t *testing.T) {
	root, s := t.TempDir(), newSink()
	const files = 5*inAChunk + 3
	now := time.Now().Truncate(time.Second)
	for n := range files {
		path := filepath.Join(root, fmt.Sprintf("%d.log", n))
		write(t, path, fmt.Sprintf("first\n%d\n", n))
		if n%7 == 0 {
			appendTo(t, path, "and a line that is not whole")
		}
		at := now.Add(-time.Duration(n) * time.Second)
		require.NoError(t, os.Chtimes(path, at, at))
	}
	watched(t, root, s, func(w *Watcher) {
		w.opts.Glance = func(b Batch) (any, bool) {
			told, _ := last(b)
			return told, b.Path[len(b.Path)-5] != '3' // the others are read as any other
		}
	})
	n := 0
	for _, b := range s.batches {
		if b.Cursor.IsZero() {
			continue
		}
		require.Equal(t, fmt.Sprintf("%d.log", n), filepath.Base(b.Path))
		if n%10 != 3 {
			require.Equal(t, fmt.Sprint(n), b.Judged)
		}
		n++
	}
	require.Equal(t, files, n)
}

// A file that was looked at is in the same state as one that was read.
func TestAFileThatWasLookedAtIsReadOn(t *testing.T) {
	texts := map[string]string{
		"short":  "one\ntwo\n",
		"half":   "one\ntw",
		"blocks": strings.Repeat("filler\n", firstLook) + "two\n",
		"lines":  strings.Repeat("x", 3*lastFew) + "\n" + strings.Repeat("y", 2*lastFew) + "\n",
		"huge":   strings.Repeat("x", 3*firstLook) + "\n",
		"none":   "on",
		"empty":  "",
	}
	states := make(map[bool]map[string]Cursor)
	for _, looks := range []bool{false, true} {
		root, s := t.TempDir(), newSink()
		for name, text := range texts {
			write(t, filepath.Join(root, name+".log"), text)
		}
		s.enough = func(Batch) bool { return true }
		r := watched(t, root, s, func(w *Watcher) {
			if looks {
				w.opts.Glance = last
			}
		})
		states[looks] = make(map[string]Cursor)
		for name, text := range texts {
			path := r.path(name + ".log")
			c := s.cursors[path]
			c.Dev, c.Inode, c.Changed = 0, 0, 0
			states[looks][name] = c
			before := len(s.lines(path))
			appendTo(t, path, "\nnext\n")
			want := []string{"next"}
			if tail := text[strings.LastIndexByte(text, '\n')+1:]; tail != "" {
				want = []string{tail, "next"}
			}
			s.await(t, "what is new", func() bool { return len(s.lines(path)) >= before+len(want) })
			require.Equal(t, want, s.lines(path)[before:], name)
			require.Len(t, epochs(s.of(path)), 1, name)
		}
	}
	require.Equal(t, states[false], states[true])
}

// What a path named when it was looked at may be gone, or have another name, when that is
// taken note of. Then it is read as any other.
func TestAFileThatIsRenamedAfterItWasLookedAtKeepsItsName(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string) fsnotify.Event{
		"renamed": func(t *testing.T, path string) fsnotify.Event {
			require.NoError(t, os.Rename(path, path+".old.log"))
			return fsnotify.Event{Name: path, Op: fsnotify.Rename}
		},
		"deleted": func(t *testing.T, path string) fsnotify.Event {
			require.NoError(t, os.Remove(path))
			return fsnotify.Event{Name: path, Op: fsnotify.Remove}
		},
		"replaced": func(t *testing.T, path string) fsnotify.Event {
			write(t, path+".new", "other\n")
			require.NoError(t, os.Rename(path+".new", path))
			return fsnotify.Event{Name: path, Op: fsnotify.Create}
		},
		"written to": func(t *testing.T, path string) fsnotify.Event {
			appendTo(t, path, "two\n")
			return fsnotify.Event{Name: path, Op: fsnotify.Write}
		},
	} {
		t.Run(name, func(t *testing.T) {
			root, s := t.TempDir(), newSink()
			path := filepath.Join(root, "a.log")
			write(t, path, "one\n")
			w := New(Options{Root: root, Deliver: s.deliver, Glance: last})
			w.rescan(t.Context())
			w.lain = map[string]bool{path: true}
			require.True(t, w.lookAhead(t.Context()))
			<-w.ahead[0].done
			require.True(t, w.ahead[0].sights[0].enough)
			w.handle(t.Context(), change(t, path))
			for !w.idle() {
				w.work(t.Context())
			}
			for _, together := range w.shelf.records {
				for i := range together {
					if r := &together[i]; r.name != "" {
						w.file(w.shelf.path(r))
					}
				}
			}
			for _, f := range w.files {
				info, err := os.Lstat(f.path)
				require.NoError(t, err)
				require.Equal(t, f.seen, stampOf(info), "what is known of a path is true of it now")
			}
			for id, f := range w.byID {
				require.Equal(t, id, f.seen.id)
			}
			for _, b := range s.batches {
				require.Nil(t, b.Judged)
			}
		})
	}
}

// What a path has become since it was found is not looked at.
func TestOnlyRegularFilesAreLookedAt(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "one\n")
	require.NoError(t, os.Symlink(filepath.Join(dir, "file"), filepath.Join(dir, "link")))
	mkfifo(t, filepath.Join(dir, "fifo"))
	for _, name := range []string{"link", "fifo", ".", "missing"} {
		var what looks
		_, err := peekAt(filepath.Join(dir, name), &what)
		require.Error(t, err, name)
	}
	var what looks
	in, err := peekAt(filepath.Join(dir, "file"), &what)
	require.NoError(t, err)
	defer in.close()
	info, err := os.Lstat(filepath.Join(dir, "file"))
	require.NoError(t, err)
	require.Equal(t, stampOf(info), what.stamp())
	got := what.info()
	require.Equal(t, []any{info.Name(), info.Size(), info.Mode(), info.ModTime(), info.IsDir()}, []any{got.Name(), got.Size(), got.Mode(), got.ModTime(), got.IsDir()})
	require.Equal(t, info.Sys(), got.Sys())
	room := make([]byte, 4)
	require.NoError(t, in.read(room, 0))
	require.Equal(t, "one\n", string(room))
	require.ErrorIs(t, in.read(room, 1), errShrunk)
}

// Who ends the daemon in the middle of its start need not wait for it.
func TestRunEndsWhileFilesAreLookedAt(t *testing.T) {
	root := t.TempDir()
	for n := range 3 * inAChunk {
		write(t, filepath.Join(root, fmt.Sprintf("%d.log", n)), "one\n")
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := New(Options{Root: root, Deliver: newSink().deliver, Glance: func(Batch) (any, bool) {
		cancel()
		return nil, true
	}})
	require.NoError(t, w.Run(ctx))
	require.Empty(t, w.ahead)
}
