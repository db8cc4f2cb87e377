package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckID(t *testing.T) {
	good := []string{
		"4f2a1c9e-0000-4000-8000-000000000000", "ses_6f3b2aXYZ", "a", "0", "run.2026-01-01T10:00", "A..b", "z", "Z", "9", "azAZ09",
		strings.Repeat("x", 200),
	}
	for _, id := range good {
		require.NoError(t, CheckID(id), id)
	}
	bad := map[string]string{
		"an option":                 "--dangerously-skip-permissions",
		"a short option":            "-r",
		"empty":                     "",
		"a path upwards":            "../../etc/passwd",
		"a hidden name":             ".ssh",
		"a path":                    "a/b",
		"a substitution":            "a$(id)",
		"a space":                   "a b",
		"a newline":                 "a\n",
		"a nul":                     "a\x00",
		"an equals sign":            "a=b",
		"a letter that looks alike": "а1", // Cyrillic
		"not UTF-8":                 "a\xff",
		"too long":                  strings.Repeat("x", 201),
	}
	for name, id := range bad {
		err := CheckID(id)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "\n")
	}
	require.ErrorContains(t, CheckID("-r"), "must begin with one of a-z")
	require.ErrorContains(t, CheckID("a/b"), `must not contain '/'`)
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.log")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	tail := func(n int64) string {
		text, err := Tail(path, n)
		require.NoError(t, err)
		return text
	}
	write("first line\nsecond \x1b[31mline\x1b[0m\nlast line\n")
	require.Equal(t, "first line\nsecond line\nlast line\n", tail(1000))
	require.Equal(t, "last line\n", tail(15), "half a line is no line")
	write(strings.Repeat("é", 100))
	require.Equal(t, "éé", tail(5), "and half a letter no letter")
	write("long line that is all there is\n")
	require.Equal(t, "there is\n", tail(9), "but half a line is better than none")
	write("")
	require.Empty(t, tail(10))
	_, err := Tail(path+".none", 10)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestHead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.log")
	require.NoError(t, os.WriteFile(path, []byte("first line"), 0o600))
	require.Equal(t, "first", Head(path, 5))
	require.Equal(t, "first line", Head(path, 1000))
	require.Empty(t, Head(path+".none", 5))
}
