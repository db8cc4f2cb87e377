package watch

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hollow makes a file of that size in which nothing was written but the texts.
func hollow(t *testing.T, path string, size int64, texts map[int64]string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	if err := f.Truncate(size); err != nil {
		t.Skipf("no file of %d bytes here: %v", size, err)
	}
	for at, text := range texts {
		_, err := f.WriteAt([]byte(text), at)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
}

const tera = 1 << 40

func TestHolesArePassedOver(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string]map[int64]string{
		"nothing else":       {},
		"a line before":      {0: "first\n"},
		"a line after":       {tera - 6: "\nlast\n"},
		"lines on each side": {0: "first\n", tera / 2: "\nmiddle\n", tera - 6: "\nlast\n"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, "a.log")
			hollow(t, path, tera, texts)
			r := watched(t, root, newSink(), nil)
			var want []string
			for _, at := range []int64{tera - 6, tera / 2, 0} { // from the end back
				if text := strings.TrimSpace(texts[at]); text != "" {
					want = append(want, text)
				}
			}
			short := slices.DeleteFunc(r.lines(path), func(line string) bool { return len(line) > 100 })
			require.Equal(t, want, nilIfEmpty(short))
			appendTo(t, path, "\nand on\n")
			r.await(t, "what follows", func() bool { return slices.Contains(r.lines(path), "and on") })
		})
	}
}

func nilIfEmpty(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	return lines
}

// big is several turns long.
var big = bytes.Repeat([]byte("\n"), 5*turnSize)

func TestAnotherFileHasItsTurnBetween(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	large, small := filepath.Join(root, "large.log"), filepath.Join(root, "small.log")
	require.NoError(t, os.WriteFile(large, append([]byte("begin\n"), big...), 0o600))
	write(t, small, "one\n")
	long := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(small, long, long), "the large one comes first")
	r := watched(t, root, newSink(), nil)
	require.Equal(t, []string{"begin"}, r.lines(large), "all of it was read when it is ready")
	first := func(path string) int {
		return slices.IndexFunc(r.batches, func(b Batch) bool { return b.Path == path && len(b.Lines) > 0 })
	}
	require.Less(t, first(small), first(large))
}

// A line that must be read costs far more than its bytes: of a file of nothing else a few hundred
// are told at a time, and then its turn is over, unless there is little left of it.
func TestAFileOfLinesThatMatterHasShortTurns(t *testing.T) {
	t.Parallel()
	const most, each = 512, "limit\n"
	for _, size := range []int{oneTurn, 2 * oneTurn, turnSize / 4} {
		root := t.TempDir()
		large, small := filepath.Join(root, "large.log"), filepath.Join(root, "small.log")
		all := strings.Repeat(each, size/len(each))
		write(t, large, all)
		write(t, small, each)
		long := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(small, long, long), "the large one comes first")
		s := newSink()
		for _, path := range []string{large, small} { // they are read on from their beginning
			info, err := os.Stat(path)
			require.NoError(t, err)
			id := stampOf(info).id
			s.cursors[path] = Cursor{Dev: id.dev, Inode: id.inode}
		}
		r := watched(t, root, s, nil)
		require.True(t, strings.Join(r.lines(large), "\n")+"\n" == all, "each line once")
		next := int64(0)
		for _, b := range r.of(large) {
			require.LessOrEqual(t, len(b.Lines), most)
			for _, line := range b.Lines {
				require.Equal(t, next, line.Offset)
				next = line.End
			}
			require.Equal(t, next, b.Cursor.Offset, "a cursor stands behind what was delivered")
		}
		before := 0
		for _, b := range r.batches[:slices.IndexFunc(r.batches, func(b Batch) bool { return b.Path == small && len(b.Lines) > 0 })] {
			before += len(b.Lines)
		}
		if size > oneTurn {
			require.LessOrEqual(t, before, most, "the small one need not wait")
		}
	}
}

func TestAFileOfLinesThatMatterIsReadBackInShortTurns(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path, all := filepath.Join(root, "large.log"), strings.Repeat("limit\n", turnSize/8)
	write(t, path, all)
	r := watched(t, root, newSink(), nil)
	require.True(t, strings.Join(r.lines(path), "\n")+"\n" == all, "each line once")
	for _, b := range r.of(path) {
		require.LessOrEqual(t, len(b.Lines), firstLook/len("limit\n"))
	}
}

func TestACheckOfAFileThatIsBeingReadWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "a.log")
	r := watched(t, root, newSink(), nil)
	write(t, path, "begin\n")
	r.awaitLines(t, path, "begin")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.Write(append(slices.Clone(big), "end\n"...))
	require.NoError(t, errors.Join(err, f.Close()))
	require.NoError(t, r.w.Check(t.Context(), path))
	require.Equal(t, []string{"begin", "end"}, r.lines(path))
}

func TestAFileThatChangesWhileItIsRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path, other := filepath.Join(root, "a.log"), filepath.Join(root, "b.log")
	for name, c := range map[string]struct {
		change func() error
		want   []string // in the end
	}{
		"is renamed":  {func() error { return os.Rename(path, other) }, []string{"end", "begin"}},
		"is replaced": {func() error { write(t, other, "new\n"); return os.Rename(other, path) }, []string{"new"}},
		"grows":       {func() error { appendTo(t, path, "more\n"); return nil }, []string{"end", "begin", "more"}},
		"is deleted":  {func() error { return os.Remove(path) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, slices.Concat([]byte("begin\n"), big, []byte("end\n")), 0o600))
			t.Cleanup(func() { _ = os.Remove(path); _ = os.Remove(other) })
			s, begun := newSink(), false
			s.refuse = func(Batch) error {
				if begun {
					return nil
				}
				begun = true
				return c.change()
			}
			r := watched(t, root, s, nil)
			lines := func() []string { // it may have been read under either name
				return append(r.lines(path), r.lines(other)...)
			}
			r.await(t, strings.Join(c.want, ", "), func() bool {
				all := lines()
				return len(all) >= len(c.want) && slices.Equal(c.want, all[len(all)-len(c.want):])
			})
			r.settle(t)
		})
	}
}

// A terabyte that the file system knows no holes of is as good as one that is
// written: Run ends all the same when it is told to.
func TestRunEndsInTheMiddleOfAFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "a.log"), big, 0o600))
	s := newSink()
	ctx, cancel := context.WithCancel(t.Context())
	s.refuse = func(Batch) error { cancel(); return nil }
	opts := s.options(root)
	opts.Ready = func(context.Context) { t.Error("it was not read") }
	w := New(opts)
	require.NoError(t, w.Run(ctx))
	require.Len(t, s.batches, 1)
	require.ErrorIs(t, w.Check(t.Context(), filepath.Join(root, "a.log")), ErrStopped)
}
