package lines_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/lines"
)

func write(t testing.TB, content string) string {
	path := filepath.Join(t.TempDir(), "transcript")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

type seen struct {
	offset int64
	text   string
}

func linesBack(t testing.TB, path string) []seen {
	var all []seen
	require.NoError(t, lines.Back(t.Context(), path, func(l lines.Line) bool {
		require.False(t, l.Cut)
		require.Equal(t, path, l.Path)
		require.False(t, l.ModTime.IsZero())
		all = append(all, seen{l.Offset, string(l.Data)})
		return true
	}))
	return all
}

func TestLinesAreReadFromTheEndBack(t *testing.T) {
	long := strings.Repeat("x", 700<<10) // longer than any block
	for name, c := range map[string]struct {
		content string
		want    []seen
	}{
		"an empty file":             {"", nil},
		"one line":                  {"a\n", []seen{{0, "a"}}},
		"a line without its end":    {"a\nb", []seen{{2, "b"}, {0, "a"}}},
		"empty lines":               {"\n\na\n\nb\n\n", []seen{{5, "b"}, {2, "a"}}},
		"a line longer than blocks": {"a\n" + long + "\nb\n", []seen{{int64(3 + len(long)), "b"}, {2, long}, {0, "a"}}},
		"nothing but newlines":      {"\n\n\n", nil},
		"nothing but one long line": {long, []seen{{0, long}}},
		"a long line at the start":  {long + "\nb", []seen{{int64(1 + len(long)), "b"}, {0, long}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, linesBack(t, write(t, c.content)))
		})
	}
}

func TestLinesReadBackAreTheLinesReadForth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		var content bytes.Buffer
		var want []seen
		for range rng.IntN(60) {
			line := strings.Repeat("y", int(rng.ExpFloat64()*float64(rng.IntN(60_000))))
			if line != "" {
				want = append(want, seen{int64(content.Len()), line})
			}
			fmt.Fprintln(&content, line)
		}
		slices.Reverse(want)
		require.Equal(t, want, linesBack(t, write(t, content.String())))
	}
}

func TestReadingBackStopsWhenToldTo(t *testing.T) {
	path := write(t, "a\nb\nc\n")
	var got []string
	require.NoError(t, lines.Back(t.Context(), path, func(l lines.Line) bool {
		got = append(got, string(l.Data))
		return len(got) < 2
	}))
	require.Equal(t, []string{"c", "b"}, got)
}

func TestReadingBackBeginsWhereItIsToldTo(t *testing.T) {
	path := write(t, "a\nb\n\nc\n")
	for offset, want := range map[int64][]string{0: nil, 2: {"a"}, 5: {"b", "a"}, 7: {"c", "b", "a"}, 99: {"c", "b", "a"}, -1: nil} {
		var got []string
		require.NoError(t, lines.Span{Before: lines.Line{Path: path, Offset: offset}}.Back(t.Context(), func(l lines.Line) bool {
			got = append(got, string(l.Data))
			return true
		}))
		require.Equal(t, want, got, "offset %d", offset)
	}
}

// The part of a file in memory gives the same lines as the file itself, whatever its size.
func TestReadingBackBeginsWithWhatIsHeld(t *testing.T) {
	const text = "\ufeffone\n\n\ntwo\nthree\r\n\nfour\n"
	path := write(t, text)
	visits := func(line lines.Line) (all []string) {
		require.NoError(t, lines.Span{Before: line}.Back(t.Context(), func(l lines.Line) bool {
			all = append(all, fmt.Sprintf("%d %q %v", l.Offset, l.Data, l.ModTime.Equal(line.ModTime)))
			return true
		}))
		return all
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	line := lines.Line{Path: path, Offset: int64(len(text)), ModTime: info.ModTime()}
	want := visits(line)
	require.Len(t, want, 4)
	for from := range len(text) {
		if from == 0 || text[from-1] == '\n' {
			line.Before = []byte(text[from:])
			require.Equal(t, want, visits(line), "from %d", from)
		}
	}
	line.Path, line.Before = filepath.Join(t.TempDir(), "none"), []byte(text)
	require.Equal(t, want, visits(line), "it is not opened")
}

func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	none := func(lines.Line) bool { return true }
	require.ErrorIs(t, lines.Back(t.Context(), filepath.Join(t.TempDir(), "none"), none), os.ErrNotExist)
	require.ErrorContains(t, lines.Back(t.Context(), t.TempDir(), none), "not a regular file")
}

// A line of a gibibyte, in a sparse file: it is skipped.
func TestAHugeLineCostsBoundedMemory(t *testing.T) {
	path := write(t, "first\n")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	const huge = 1 << 30
	_, err = f.WriteAt([]byte("begins here"), 6)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("\nlast\n"), 6+huge)
	require.NoError(t, err)

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var got []lines.Line
	require.NoError(t, lines.Back(t.Context(), path, func(l lines.Line) bool {
		got = append(got, lines.Line{Offset: l.Offset, Data: bytes.Clone(l.Data)})
		return true
	}))
	runtime.ReadMemStats(&after)

	require.Equal(t, []lines.Line{
		{Offset: 7 + huge, Data: []byte("last")},
		{Offset: 0, Data: []byte("first")},
	}, got)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}

// Holes of a sparse file take no time, whatever their size.
func TestLinesAreReadBackOverHoles(t *testing.T) {
	const tera = 1 << 40
	path := write(t, "a\n")
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	if _, err := file.WriteAt([]byte("\nb\n"), tera); err != nil {
		t.Skip("no file of a terabyte here: ", err)
	}
	require.NoError(t, file.Close())
	var offsets []int64
	require.NoError(t, lines.Back(t.Context(), path, func(l lines.Line) bool {
		offsets = append(offsets, l.Offset)
		return true
	}))
	require.Equal(t, []int64{tera + 1, 0}, offsets)
}

// A cancelled caller does not wait until the beginning of a file is reached.
func TestReadingBackEndsWithItsContext(t *testing.T) {
	path := write(t, strings.Repeat("\n", 1<<20)+strings.Repeat("line\n", 1<<20))
	ctx, cancel := context.WithCancelCause(t.Context())
	enough, visited := errors.New("enough"), 0
	err := lines.Back(ctx, path, func(lines.Line) bool {
		cancel(enough)
		visited++
		return true
	})
	require.ErrorIs(t, err, enough)
	require.Less(t, visited, 1<<17, "no more than was held")
}
