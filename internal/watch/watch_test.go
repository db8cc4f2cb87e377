package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLinesComeCompleteAndOnce(t *testing.T) {
	r := watched(t, t.TempDir(), newSink(), nil)
	path := r.path("a.log")

	appendTo(t, path, "one\ntwo\r\n\nthr")
	r.awaitLines(t, path, "one", "two")
	appendTo(t, path, "e")
	r.settle(t)
	r.awaitLines(t, path, "one", "two")
	appendTo(t, path, "e\nfour\nfi")
	r.awaitLines(t, path, "one", "two", "three", "four")

	last := r.of(path)[len(r.of(path))-1]
	require.Equal(t, int64(10), last.Lines[0].Offset)
	require.Equal(t, int64(16), last.Lines[0].End)
	require.Equal(t, last.Lines[1].End, last.Cursor.Offset)
	require.Equal(t, Matters, last.Lines[0].Weight)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, info.ModTime(), last.Info.ModTime())
	require.Len(t, epochs(r.of(path)), 1)
}

func TestRestartContinuesAtTheStoredCursor(t *testing.T) {
	root, s := t.TempDir(), newSink()
	path := filepath.Join(root, "a.log")
	write(t, path, "one\nhalf")
	r := watched(t, root, s, nil)
	r.awaitLines(t, path, "one")
	r.stop()

	appendTo(t, path, " line\nthree\n")
	r = watched(t, root, s, nil)
	r.awaitLines(t, path, "one", "half line", "three")
	require.Len(t, epochs(r.of(path)), 1)
	require.False(t, r.of(path)[len(r.of(path))-1].Back)
}

func TestAStoredCursorOutlivesAnotherDeviceNumber(t *testing.T) {
	root, s := t.TempDir(), newSink()
	path := filepath.Join(root, "a.log")
	write(t, path, "one\n")
	watched(t, root, s, nil).stop()
	c := s.cursors[path]
	c.Dev++
	s.cursors[path] = c

	r := watched(t, root, s, nil)
	appendTo(t, path, "two\n")
	r.awaitLines(t, path, "one", "two")
	require.Len(t, epochs(r.of(path)), 1)
}

func TestAStoredCursorThatMakesNoSenseIsOfAnotherFile(t *testing.T) {
	for name, spoil := range map[string]func(*Cursor){
		"negative":         func(c *Cursor) { c.Offset = -5 },
		"behind the end":   func(c *Cursor) { c.Offset = 1 << 60 },
		"within a line":    func(c *Cursor) { c.Offset-- },
		"of another head":  func(c *Cursor) { c.Head++ },
		"of another inode": func(c *Cursor) { c.Inode++ },
	} {
		t.Run(name, func(t *testing.T) {
			root, s := t.TempDir(), newSink()
			path := filepath.Join(root, "a.log")
			write(t, path, "one\n")
			watched(t, root, s, nil).stop()
			c := s.cursors[path]
			c.Size = 0 // it is looked into
			spoil(&c)
			s.cursors[path] = c
			r := watched(t, root, s, nil)
			r.awaitLines(t, path, "one", "one")
		})
	}
}

func TestACursorIsStoredOnceAPassEvenWithoutLines(t *testing.T) {
	root, s := t.TempDir(), newSink()
	path := filepath.Join(root, "a.log")
	write(t, path, "start\n")
	watched(t, root, s, nil).stop()
	s.batches = nil

	noise := strings.Repeat(strings.Repeat("x", 99)+"\n", 10_000) // four blocks
	appendTo(t, path, noise)
	r := watched(t, root, s, func(w *Watcher) { w.opts.Sift = containing("needle") })
	require.Len(t, r.of(path), 1)
	require.Empty(t, r.of(path)[0].Lines)
	require.Equal(t, int64(6+len(noise)), r.of(path)[0].Cursor.Offset)
}

func TestSiftWeighsEveryLine(t *testing.T) {
	var weighed []string
	r := watched(t, t.TempDir(), newSink(), func(w *Watcher) {
		w.opts.Sift = func(line []byte) Weight {
			weighed = append(weighed, string(line))
			switch {
			case bytes.HasPrefix(line, []byte("step")):
				return Moves
			case bytes.HasPrefix(line, []byte("limit")):
				return Matters
			}
			return Nothing
		}
	})
	path := r.path("a.log")
	appendTo(t, path, "other\nstep 1\nno limit\nlimit reached\nend\n")
	r.awaitLines(t, path, "step 1", "limit reached")
	require.Equal(t, []string{"other", "step 1", "no limit", "limit reached", "end"}, weighed)
	batches := r.of(path)
	lines := batches[len(batches)-1].Lines
	require.Equal(t, []Weight{Moves, Matters}, []Weight{lines[0].Weight, lines[1].Weight})
	require.Equal(t, int64(6), lines[0].Offset)
}

func TestRefusedLinesComeAgain(t *testing.T) {
	s := newSink()
	r := watched(t, t.TempDir(), s, nil)
	path := r.path("a.log")
	appendTo(t, path, "one\n")
	r.awaitLines(t, path, "one")

	full := errors.New("disk is full")
	s.set(func() { s.refuse = func(Batch) error { return full } })
	appendTo(t, path, "two\n")
	require.ErrorIs(t, r.w.Check(t.Context(), path), full)
	cursor, _ := s.known(path)
	require.Equal(t, int64(4), cursor.Offset)

	s.set(func() { s.refuse = nil })
	appendTo(t, path, "three\n")
	r.awaitLines(t, path, "one", "two", "three")
}

func TestCheckReturnsWhenTheNewLinesWereDelivered(t *testing.T) {
	r := watched(t, t.TempDir(), newSink(), func(w *Watcher) { w.noEvents = true })
	path := r.path("a.log")
	write(t, path, "one\n")
	require.NoError(t, r.w.Check(t.Context(), path))
	require.Equal(t, []string{"one"}, r.lines(path))
	appendTo(t, path, "two\n")
	require.NoError(t, r.w.Check(t.Context(), path))
	require.NoError(t, r.w.Check(t.Context(), path))
	require.Equal(t, []string{"one", "two"}, r.lines(path))

	require.ErrorIs(t, r.w.Check(t.Context(), r.path("none.log")), fs.ErrNotExist)
	require.ErrorIs(t, r.w.Check(t.Context(), r.path("a.txt")), ErrNotWatched)
	require.ErrorIs(t, r.w.Check(t.Context(), "/etc/passwd"), ErrNotWatched)
	r.stop()
	require.ErrorIs(t, r.w.Check(t.Context(), path), ErrStopped)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, New(r.options(r.root)).Check(ctx, path), context.Canceled)
}

func TestWithoutEventsTheRescanFindsEverything(t *testing.T) {
	root := t.TempDir()
	old := filepath.Join(root, "old.log")
	write(t, old, "one\n")
	r := watched(t, root, newSink(), func(w *Watcher) {
		w.noEvents, w.pause = true, 20*time.Millisecond
	})
	appendTo(t, old, "two\n")
	r.awaitLines(t, old, "one", "two")

	deep := r.path("a", "b", "new.log")
	require.NoError(t, os.MkdirAll(filepath.Dir(deep), 0o700))
	write(t, deep, "three\n")
	r.awaitLines(t, deep, "three")

	write(t, old, "anew\n")
	r.awaitLines(t, old, "one", "two", "anew")
}

// A flood of events while the daemon is busy overflows the kernel's queue. What
// happened then sends no event at all, and is found all the same.
func TestAnOverflowOfEventsLosesNothing(t *testing.T) {
	var limit int
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	require.NoError(t, err)
	_, err = fmt.Sscan(string(text), &limit)
	require.NoError(t, err)
	if limit > 200_000 {
		t.Skipf("THE OVERFLOW IS NOT TESTED HERE: the kernel queues %d events", limit)
	}

	busy, free := make(chan struct{}), make(chan struct{})
	s := newSink()
	r := watched(t, t.TempDir(), s, nil)
	s.set(func() {
		s.refuse = func(Batch) error {
			s.refuse = nil
			close(busy)
			<-free
			return nil
		}
	})
	appendTo(t, r.path("a.log"), "one\n")
	<-busy
	a, err := os.Create(r.path("a.txt"))
	require.NoError(t, err)
	defer a.Close()
	b, err := os.Create(r.path("b.txt"))
	require.NoError(t, err)
	defer b.Close()
	for range limit/2 + 4096 { // in turn: equal events in a row are merged
		_, _ = a.WriteString("x")
		_, _ = b.WriteString("x")
	}
	late := r.path("new", "late.log")
	require.NoError(t, os.Mkdir(filepath.Dir(late), 0o700))
	write(t, late, "unseen\n")
	close(free)
	r.awaitLines(t, late, "unseen")
	appendTo(t, late, "seen\n")
	r.awaitLines(t, late, "unseen", "seen")
}

func TestCursorsSurviveJSON(t *testing.T) {
	for _, want := range []Cursor{
		{},
		{Dev: 1<<63 + 1, Inode: 1<<64 - 1, Gen: 7, Offset: 1 << 40, Head: 1<<64 - 2},
		{Dev: 1, Inode: 2, Gen: 1<<32 - 1, Offset: 1<<63 - 1, Head: 5, Size: 1<<63 - 1, Changed: 1<<63 - 1},
		{Size: 1},
		{Changed: -1, Offset: -1},
	} {
		text, err := json.Marshal(want)
		require.NoError(t, err)
		var got Cursor
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, want, got)
	}
	require.NotEqual(t, Cursor{Inode: 1, Gen: 7}.Epoch(), Cursor{Inode: 1, Gen: 8}.Epoch())
}
