package watch

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/fsevents"
)

func mkfifo(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(path, 0o700))
}

func TestNewDirectoriesAreWatchedDownToTheDepth(t *testing.T) {
	r := watched(t, t.TempDir(), newSink(), nil)
	deep, tooDeep := r.path("1", "2", "3", "a.log"), r.path("1", "2", "3", "4", "a.log")
	mkdir(t, filepath.Dir(tooDeep))
	write(t, tooDeep, "unseen\n")
	write(t, deep, "one\n")
	r.awaitLines(t, deep, "one")
	appendTo(t, tooDeep, "unseen\n")
	appendTo(t, deep, "two\n")
	r.awaitLines(t, deep, "one", "two")
	require.Empty(t, r.of(tooDeep))
	require.ErrorIs(t, r.w.Check(t.Context(), tooDeep), ErrNotWatched)
	require.NotContains(t, r.w.notify.Added(), filepath.Dir(tooDeep))
}

func TestADirectoryThatIsRemovedAndMadeAgainIsWatchedAgain(t *testing.T) {
	r := watched(t, t.TempDir(), newSink(), nil)
	path := r.path("p", "a.log")
	var want []string
	for i := range 5 {
		mkdir(t, filepath.Dir(path))
		write(t, path, fmt.Sprintf("first of %d\n", i))
		want = append(want, fmt.Sprintf("first of %d", i))
		r.awaitLines(t, path, want...)
		appendTo(t, path, "second\n")
		want = append(want, "second")
		r.awaitLines(t, path, want...)
		require.NoError(t, os.RemoveAll(filepath.Dir(path)))
		if i%2 == 0 {
			r.settle(t)
		}
	}
}

func TestARenamedDirectoryIsFollowed(t *testing.T) {
	r := watched(t, t.TempDir(), newSink(), nil)
	mkdir(t, r.path("p0", "sub"))
	write(t, r.path("p0", "sub", "a.log"), "line 0\n")
	r.awaitLines(t, r.path("p0", "sub", "a.log"), "line 0")
	for i := 1; i < 10; i++ { // the kernel's and the watcher's view race: once is luck
		from, to := fmt.Sprintf("p%d", i-1), fmt.Sprintf("p%d", i)
		require.NoError(t, os.Rename(r.path(from), r.path(to)))
		if i%2 == 0 {
			r.settle(t)
		}
		path := r.path(to, "sub", "a.log")
		appendTo(t, path, fmt.Sprintf("line %d\n", i))
		r.awaitLines(t, path, fmt.Sprintf("line %d", i))
	}
}

func TestTheRootMayComeAndGo(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "home", "agent", "projects")
	r := watched(t, root, newSink(), nil)
	path := r.path("p", "a.log")
	var want []string
	for i := range 4 {
		mkdir(t, filepath.Dir(path))
		write(t, path, fmt.Sprintf("first of %d\n", i))
		want = append(want, fmt.Sprintf("first of %d", i))
		r.awaitLines(t, path, want...)
		appendTo(t, path, "second\n")
		want = append(want, "second")
		r.awaitLines(t, path, want...)
		require.NoError(t, os.RemoveAll(filepath.Join(base, []string{"home", "home/agent", "home/agent/projects", "home"}[i])))
	}
}

func TestTheRootMayBeALink(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for _, dir := range []string{"first", "second"} {
		mkdir(t, filepath.Join(base, dir))
		write(t, filepath.Join(base, dir, "a.log"), "of the "+dir+"\n")
	}
	root := filepath.Join(base, "link")
	require.NoError(t, os.Symlink("first", root))
	r := watched(t, root, newSink(), func(w *Watcher) { w.pause = 50 * time.Millisecond })
	path := r.path("a.log")
	r.awaitLines(t, path, "of the first")
	appendTo(t, filepath.Join(base, "first", "a.log"), "more\n")
	r.awaitLines(t, path, "of the first", "more")

	require.NoError(t, os.Symlink("second", root+".tmp"))
	require.NoError(t, os.Rename(root+".tmp", root))
	r.awaitLines(t, path, "of the first", "more", "of the second")
	appendTo(t, filepath.Join(base, "second", "a.log"), "more\n")
	r.awaitLines(t, path, "of the first", "more", "of the second", "more")
}

func TestARootThatIsNoDirectoryIsWaitedFor(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	write(t, root, "a file")
	r := watched(t, root, newSink(), nil)
	require.NoError(t, os.Remove(root))
	mkdir(t, root)
	write(t, r.path("a.log"), "one\n")
	r.awaitLines(t, r.path("a.log"), "one")
}

func TestWhatCannotBeReadIsToldOnce(t *testing.T) {
	root := t.TempDir()
	mkfifo(t, filepath.Join(root, "fifo.log"))
	var log bytes.Buffer
	r := watched(t, root, newSink(), func(w *Watcher) {
		w.log = slog.New(slog.NewTextHandler(&log, nil))
		w.noEvents, w.pause = true, 5*time.Millisecond
	})
	for range 5 {
		r.settle(t)
	}
	r.stop()
	require.Equal(t, 1, strings.Count(log.String(), "fifo.log"), log.String())
}

func TestFilesThatAreGoneAreForgotten(t *testing.T) {
	r := watched(t, t.TempDir(), newSink(), nil)
	for i := range 20 {
		path := r.path(fmt.Sprint("d", i), "a.log")
		mkdir(t, filepath.Dir(path))
		write(t, path, fmt.Sprintf("line %d\n", i))
		r.awaitLines(t, path, fmt.Sprintf("line %d", i))
		require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	}
	r.settle(t)
	r.stop()
	r.w.notify = nil // closed by Run
	for range 2 {
		r.w.rescan(t.Context())
		for !r.w.idle() {
			r.w.work(t.Context())
		}
		r.w.forgetMissed()
	}
	require.Len(t, r.w.files, 1) // the mark of settle
	require.Len(t, r.w.byID, 1)
	require.Len(t, r.w.dirs, 1)
}

func TestTenThousandFiles(t *testing.T) {
	const dirs, each = 100, 100
	root, s := t.TempDir(), newSink()
	var making sync.WaitGroup
	for d := range dirs {
		dir := filepath.Join(root, fmt.Sprint("project-", d))
		mkdir(t, dir)
		making.Go(func() {
			for f := range each {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(f, ".log")), []byte("one\ntwo\n"), 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	making.Wait()
	begin := time.Now()
	r := watched(t, root, s, nil)
	setup := time.Since(begin)
	require.Len(t, s.cursors, dirs*each)

	var latencies []time.Duration
	for i := range 300 {
		path := r.path(fmt.Sprint("project-", i*7%dirs), fmt.Sprint(i*31%each, ".log"))
		s.set(func() { s.batches = nil })
		begin := time.Now()
		appendTo(t, path, "three\n")
		r.await(t, "the line", func() bool { return len(r.lines(path)) > 0 })
		latencies = append(latencies, time.Since(begin))
	}
	slices.Sort(latencies)

	r.stop()
	begin = time.Now()
	r = watched(t, root, s, nil)
	t.Logf("%d files: first start %v, start with stored cursors %v, append to delivered p50 %v p99 %v",
		dirs*each, setup.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond),
		latencies[150], latencies[297])
	require.Less(t, latencies[150], 100*time.Millisecond)
}

// Ten thousand files are not looked at every minute for nothing.
func TestWhereEventsTellAllTheClockIsHeededLess(t *testing.T) {
	t.Parallel()
	notify, err := fsevents.New()
	require.NoError(t, err)
	t.Cleanup(func() { notify.Close() })
	for rule, c := range map[string]struct {
		given func(*Watcher)
		hears bool
	}{
		"all is well":                       {func(*Watcher) {}, true},
		"there are no events":               {func(w *Watcher) { w.notify = nil }, false},
		"the root is not there":             {func(w *Watcher) { w.attached = false }, false},
		"a directory is not watched":        {func(w *Watcher) { w.warn(w.opts.Root, syscall.ENOSPC) }, false},
		"a file could not be read":          {func(w *Watcher) { w.ended(t.Context(), "a.log", errShrunk, nil) }, false},
		"which was looked at since":         {func(w *Watcher) { w.ended(t.Context(), "a.log", errShrunk, nil); w.rescan(t.Context()) }, true},
		"a file that is read is no trouble": {func(w *Watcher) { w.ended(t.Context(), "a.log", nil, nil) }, true},
	} {
		w := New(newSink().options(t.TempDir()))
		w.notify, w.attached = notify, true
		c.given(w)
		require.Equal(t, c.hears, w.eventsAreEnough(), rule)
	}
}
