package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestCheckID(t *testing.T) {
	good := []string{
		"4f2a1c9e-0000-4000-8000-000000000000", "ses_6f3b2aXYZ", "a", "0", "run.2026-01-01T10:00", "A..b",
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
	require.ErrorContains(t, CheckID("-r"), "must begin with a letter or digit")
	require.ErrorContains(t, CheckID("a/b"), `must not contain '/'`)
}

func TestClean(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"plain text stays":                {"a\tb\nc é 漢 👩‍💻\n", "a\tb\nc é 漢 👩‍💻\n"},
		"colours":                         {"\x1b[1;31mred\x1b[0m", "red"},
		"cursor and screen":               {"a\x1b[2J\x1b[Hb\x1bc", "ab"},
		"a window title":                  {"\x1b]0;evil\x07text", "text"},
		"a link":                          {"\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "text"},
		"a title that never ends":         {"\x1b]0;evil\nnext line", "\nnext line"},
		"a device string":                 {"\x1bPq#1\x1b\\text", "text"},
		"one-character controls of C1":    {"\u009b31mred\u009d0;evil\u009c!", "red!"},
		"a sequence cut off":              {"text\x1b[3", "text"},
		"a lone escape":                   {"text\x1b", "text"},
		"bells and backspaces":            {"a\x07\x08b\x7f", "ab"},
		"a progress bar":                  {"10%\r20%\rdone\r\n", "10%\n20%\ndone\n"},
		"the direction of writing":        {"a\u202eb\u2066c\u200f\u061cd", "abcd"},
		"invisible letters":               {"a\U000e0041\ufeffb", "ab"},
		"bytes that are no text":          {"a\xff\xfeb", "a\uFFFDb"},
		"line separators of another kind": {"a\u2028b", "a\nb"},
		"character sets":                  {"\x1b(Btext", "text"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, Clean(tt.in)) })
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b]8;;x\x1b\\\x1b[31m\u202e\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := Clean(text)
		require.True(t, utf8.ValidString(got))
		for _, r := range got {
			require.False(t, unicode.IsControl(r) && r != '\n' && r != '\t', "%q", got)
			require.False(t, unicode.Is(unicode.Bidi_Control, r), "%q", got)
		}
	})
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
