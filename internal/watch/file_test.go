package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a file may become while it is watched, and what must come of it. Every
// change is made once while the watcher runs and once while it does not.
var fates = map[string]struct {
	change func(t *testing.T, path string)
	want   []string // after "one", "two"
	epochs int
}{
	"truncated in place and written anew": {
		func(t *testing.T, path string) {
			require.NoError(t, os.Truncate(path, 0))
			appendTo(t, path, "3\n")
		}, []string{"3"}, 2,
	},
	"rewritten in place, longer than it was": {
		func(t *testing.T, path string) { write(t, path, "three\nfour\nfive\n") },
		[]string{"three", "four", "five"},
		2,
	},
	"rewritten in place, of the same beginning": {
		func(t *testing.T, path string) { write(t, path, "one\n2\n3\n4\n5\n") },
		[]string{"one", "2", "3", "4", "5"},
		2,
	},
	"replaced by a rename": {
		func(t *testing.T, path string) {
			write(t, path+".tmp", "three\nfour\n")
			require.NoError(t, os.Rename(path+".tmp", path))
		}, []string{"three", "four"}, 2,
	},
	"deleted and made again": {
		func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			write(t, path, "three\nfour\nfive\n")
		}, []string{"three", "four", "five"}, 2,
	},
	"rotated, with lines that nobody read": {
		func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			require.NoError(t, os.Rename(path, path+".1"))
			_, err = f.WriteString("three\n")
			require.NoError(t, err)
			require.NoError(t, f.Close())
			write(t, path, "four\n")
		}, []string{"three", "four"}, 2,
	},
	"touched": {
		func(t *testing.T, path string) {
			require.NoError(t, os.Chmod(path, 0o644))
			appendTo(t, path, "three\n")
		}, []string{"three"}, 1,
	},
}

func TestWhatBecomesOfAFileIsNoticed(t *testing.T) {
	t.Parallel()
	for name, fate := range fates {
		for _, running := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/running=%v", name, running), func(t *testing.T) {
				root, s := t.TempDir(), newSink()
				path := filepath.Join(root, "a.log")
				write(t, path, "one\ntwo\n")
				r := watched(t, root, s, nil)
				r.awaitLines(t, path, "one", "two")
				if !running {
					r.stop()
				}
				fate.change(t, path)
				if !running {
					r = watched(t, root, s, nil)
				}
				want := append([]string{"one", "two"}, fate.want...)
				r.awaitLines(t, path, want...)
				require.Len(t, epochs(r.of(path)), fate.epochs)

				appendTo(t, path, "last\n")
				r.awaitLines(t, path, append(want, "last")...)
			})
		}
	}
}

// The successor of a deleted file often gets its inode number, and it may begin
// with the same lines: only the event tells that it is another file.
func TestADeletedFileIsNotTakenForItsSuccessor(t *testing.T) {
	r := watched(t, t.TempDir(), newSink(), nil)
	reused := 0
	for i := range 10 {
		path := r.path(fmt.Sprint(i, ".log"))
		write(t, path, "one\n")
		r.awaitLines(t, path, "one")
		before := r.of(path)[0].Cursor
		require.NoError(t, os.Remove(path))
		r.settle(t)
		write(t, path+".tmp", "one\ntwo\n")
		require.NoError(t, os.Rename(path+".tmp", path))
		r.awaitLines(t, path, "one", "one", "two")
		if after, _ := r.known(path); after.Inode == before.Inode {
			reused++
		}
		require.Len(t, epochs(r.of(path)), 2)
	}
	t.Logf("%d of 10 got the inode of their predecessor", reused)
}

// An earlier event may lead to the successor of a deleted file before the removal is heard of.
func TestASuccessorIsReadOnceHoweverLateTheRemovalIsHeardOf(t *testing.T) {
	r := watched(t, t.TempDir(), newSink(), nil)
	path := r.path("a.log")
	write(t, path, "one\n")
	r.settle(t)
	r.set(func() { // nothing can be delivered meanwhile: the watcher hears of it when all has happened
		appendTo(t, r.path("busy.log"), "busy\n")
		appendTo(t, path, "unread\n")
		require.NoError(t, os.Remove(path))
		write(t, path, "successor\n")
	})
	r.settle(t)
	require.Equal(t, []string{"one", "successor"}, r.lines(path))
}

func TestARewriteBeyondTheFingerprintIsNoticedByItsLines(t *testing.T) {
	root, s := t.TempDir(), newSink()
	path := filepath.Join(root, "a.log")
	text, lines := numbered(30)
	write(t, path, text)
	watched(t, root, s, nil).stop()
	s.batches = nil

	write(t, path, text[:len(text)-100]+"a shorter line\n"+text)
	r := watched(t, root, s, nil)
	want := append(slices.Clone(lines[:29]), "a shorter line")
	require.Equal(t, append(want, lines...), r.lines(path))
}

func TestEveryTruncationIsAnEpochOfItsOwn(t *testing.T) {
	r := watched(t, t.TempDir(), newSink(), nil)
	path := r.path("a.log")
	for i := range 4 {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		r.settle(t)
		appendTo(t, path, "the same line\n")
		r.await(t, "the line", func() bool { return len(r.lines(path)) == i+1 })
	}
	require.Len(t, epochs(r.of(path)), 4)
}

func TestARenamedFileIsNotReadAgain(t *testing.T) {
	for name, to := range map[string]string{"in its directory": "b.log", "to another": "sub/b.log"} {
		t.Run(name, func(t *testing.T) {
			r := watched(t, t.TempDir(), newSink(), nil)
			require.NoError(t, os.Mkdir(r.path("sub"), 0o700))
			a, b := r.path("a.log"), r.path(to)
			write(t, a, "one\n")
			r.awaitLines(t, a, "one")
			require.NoError(t, os.Rename(a, b))
			appendTo(t, b, "two\n")
			r.awaitLines(t, b, "two")
			require.Equal(t, r.of(a)[0].Epoch, r.of(b)[0].Epoch)
			require.Equal(t, a, r.of(b)[0].RenamedFrom, "its name until now is told, once")
			for _, later := range r.of(b)[1:] {
				require.Empty(t, later.RenamedFrom)
			}

			appendTo(t, a, "another file\n")
			r.awaitLines(t, a, "one", "another file")
			appendTo(t, b, "three\n")
			r.awaitLines(t, b, "two", "three")
		})
	}
}

func TestAHardLinkIsAFileOfItsOwn(t *testing.T) {
	r := watched(t, t.TempDir(), newSink(), nil)
	a, b := r.path("a.log"), r.path("b.log")
	write(t, a, "one\n")
	r.awaitLines(t, a, "one")
	require.NoError(t, os.Link(a, b))
	r.awaitLines(t, b, "one")
	appendTo(t, a, "two\n")
	r.awaitLines(t, a, "one", "two")
}

// numbered returns lines "line 0" … padded to 100 bytes each.
func numbered(n int) (text string, lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("line %-93d.", i))
	}
	return strings.Join(lines, "\n") + "\n", lines
}

func TestFirstSightReadsFromTheEndBack(t *testing.T) {
	t.Parallel()
	text, lines := numbered(20_000)
	for name, whole := range map[string]bool{"until there is enough": false, "to the beginning": true} {
		t.Run(name, func(t *testing.T) {
			root, s := t.TempDir(), newSink()
			path := filepath.Join(root, "a.log")
			write(t, path, text+"unfinis")
			s.enough = func(b Batch) bool { return b.Back && !whole && len(s.batches) == 2 }
			r := watched(t, root, s, nil)

			var got []string
			batches := r.of(path)
			for _, b := range slices.Backward(batches[:len(batches)-1]) {
				require.True(t, b.Back)
				require.True(t, b.Cursor.IsZero(), "a crash must not lose the older lines")
				for _, l := range b.Lines {
					require.Equal(t, text[l.Offset:l.End], string(l.Data)+"\n")
					got = append(got, string(l.Data))
				}
			}
			last := batches[len(batches)-1]
			require.False(t, last.Back)
			require.Empty(t, last.Lines)
			require.Equal(t, int64(len(text)), last.Cursor.Offset)
			if whole {
				require.Equal(t, lines, got)
			} else {
				require.Less(t, len(got), 2000)
				require.Equal(t, lines[len(lines)-len(got):], got)
			}

			s.set(func() { s.batches = nil })
			appendTo(t, path, "hed\n")
			r.awaitLines(t, path, "unfinished")
		})
	}
}

func TestAnInterruptedFirstSightIsDoneAgain(t *testing.T) {
	t.Parallel()
	root, s := t.TempDir(), newSink()
	path := filepath.Join(root, "a.log")
	text, lines := numbered(2000)
	write(t, path, text)
	s.refuse = func(Batch) error {
		if len(s.batches) == 1 {
			return os.ErrDeadlineExceeded
		}
		return nil
	}
	r := watched(t, root, s, nil)
	require.Len(t, r.of(path), 1)
	void := r.of(path)[0].Sight
	s.set(func() { s.refuse, s.batches = nil, nil })
	require.NoError(t, r.w.Check(t.Context(), path))
	require.ElementsMatch(t, lines, r.lines(path))
	for _, b := range r.of(path) {
		require.Greater(t, b.Sight, void)
	}
}

func TestFilesThatAppearAreReadFromTheirBeginningUnlessLarge(t *testing.T) {
	r := watched(t, t.TempDir(), newSink(), nil)
	small, large := r.path("small.log"), r.path("large.log")
	text, lines := numbered(5000)
	for path, text := range map[string]string{small: text, large: strings.Repeat(text, 3)} {
		write(t, path+".tmp", text)
		require.NoError(t, os.Rename(path+".tmp", path))
		require.NoError(t, r.w.Check(t.Context(), path))
	}
	require.Equal(t, lines, r.lines(small))
	require.False(t, r.of(small)[0].Back)
	require.True(t, r.of(large)[0].Back)
	require.Len(t, r.lines(large), 3*len(lines))
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, size := range map[string]int{
		"as long as a block": blockSize, "a byte less": blockSize - 1, "a byte more": blockSize + 1,
		"of megabytes": 3 * mib, "as long as can be": lineLimit - 1, "cut": lineLimit, "cut by far": 3 * lineLimit,
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			long := strings.Repeat("0123456789abcdef", size/16+1)[:size]
			text := "before\n" + long + "\nafter\n"
			check := func(path string, r *rig) {
				r.await(t, "all three lines", func() bool { return len(r.lines(path)) == 3 })
				for _, b := range r.of(path) {
					for _, l := range b.Lines {
						whole := text[l.Offset : l.End-1]
						if l.Cut {
							whole = whole[:cutSize]
						}
						require.True(t, whole == string(l.Data))
						require.Equal(t, l.End-l.Offset > lineLimit, l.Cut)
					}
				}
			}
			old := filepath.Join(root, "old.log")
			write(t, old, text)
			r := watched(t, root, newSink(), nil)
			check(old, r)
			grown := r.path("grown.log")
			for rest := text; rest != ""; {
				n := min(len(rest), 1_000_000)
				appendTo(t, grown, rest[:n])
				rest = rest[n:]
			}
			check(grown, r)
		})
	}
}

func TestAHugeLineCostsLittleMemory(t *testing.T) {
	const huge = 200 << 20
	root, s := t.TempDir(), newSink()
	old := filepath.Join(root, "old.log")
	write(t, old, "before\n")
	require.NoError(t, os.Truncate(old, huge)) // a hole: no newline
	appendTo(t, old, "\nafter\n")

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := watched(t, root, s, nil)
	r.await(t, "the lines of the old file", func() bool { return len(r.lines(old)) == 3 })
	grown := r.path("grown.log")
	write(t, grown, "before\n")
	r.awaitLines(t, grown, "before")
	for size := int64(huge / 8); size <= huge; size += huge / 8 {
		require.NoError(t, os.Truncate(grown, size))
		require.NoError(t, r.w.Check(t.Context(), grown))
	}
	appendTo(t, grown, "\nafter\n")
	r.await(t, "the lines of the new file", func() bool { return len(r.lines(grown)) == 3 })
	runtime.ReadMemStats(&after)

	require.True(t, r.of(grown)[len(r.of(grown))-2].Lines[0].Cut)
	spent := after.TotalAlloc - before.TotalAlloc
	t.Logf("two lines of %d MB: %d KB allocated in all", huge>>20, spent>>10)
	require.Less(t, spent, uint64(16<<20))
}

func TestLinksAndFIFOsAreLeftAlone(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret.log"), "secret\n")
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.log"), filepath.Join(root, "link.log")))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "dir")))
	mkfifo(t, filepath.Join(root, "fifo.log"))

	r := watched(t, root, newSink(), nil)
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.log"), r.path("late.log")))
	mkfifo(t, r.path("late-fifo.log"))
	r.settle(t)
	require.ErrorIs(t, r.w.Check(t.Context(), r.path("late.log")), ErrNotWatched)
	require.ErrorIs(t, r.w.Check(t.Context(), r.path("late-fifo.log")), ErrNotWatched)
	for _, b := range r.batches {
		require.Contains(t, b.Path, r.path("settled-"))
	}
}
