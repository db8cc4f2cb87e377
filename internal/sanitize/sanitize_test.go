package sanitize_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"resumed/internal/sanitize"
)

func TestText(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
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
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, sanitize.Text(c.in)) })
	}
}

func TestLineCannotForgeAnother(t *testing.T) {
	require.Equal(t, "one two three", sanitize.Line("one\r\ntwo\n\n\t three\n"))
}

func TestCut(t *testing.T) {
	require.Equal(t, "grün", sanitize.Cut("grün", 4))
	require.Equal(t, "grü…", sanitize.Cut("grünes", 4))
	require.Equal(t, "a…", sanitize.Short("a  bcd", 3))
	require.Equal(t, strings.Repeat("ä", 99)+"…", sanitize.Cut(strings.Repeat("ä", 120), 100))
}

// Programs read the same JSON; a terminal gets no control sequences.
func TestEscape(t *testing.T) {
	const said = "a\x1b[2J\x7f\u0085\u009b31m\u202e\u2066\ufeff\u2028\U000e0041\xff é 漢 👩‍💻\tb\nc"
	data, err := json.Marshal(map[string]string{said: said})
	require.NoError(t, err)
	safe := sanitize.Escape(data)
	require.Equal(t, string(safe), sanitize.Text(string(safe)), "there is nothing left to take out")
	require.Contains(t, string(safe), `\u009b31m\u202e`)
	require.Contains(t, string(safe), "é 漢")
	require.JSONEq(t, string(data), string(safe))
	require.Equal(t, "{}\n", string(sanitize.Escape([]byte("{}\n"))))
	require.Equal(t, `a\u007fb\ufffd`, string(sanitize.Escape([]byte("a\x7fb\xff"))))
}

func FuzzText(f *testing.F) {
	f.Add("\x1b]8;;x\x1b\\\x1b[31m\u202e\r\n")
	f.Add("\x1b\x1b[\x1b]\x1bP\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := sanitize.Text(s)
		require.True(t, utf8.ValidString(got))
		for _, r := range got {
			require.False(t, unicode.IsControl(r) && r != '\n' && r != '\t', "%q", got)
			require.False(t, unicode.Is(unicode.Bidi_Control, r), "%q", got)
		}
		require.LessOrEqual(t, utf8.RuneCountInString(sanitize.Short(s, 20)), 20)
	})
}

func TestAWordOfAShell(t *testing.T) {
	for text, want := range map[string]string{
		"/home/me/a.toml": "/home/me/a.toml",
		"/home/me/my dir": "'/home/me/my dir'",
		"~/x":             "'~/x'",
		"=ls":             "'=ls'",
		"it's":            `'it'\''s'`,
		"$(reboot)":       "'$(reboot)'",
		"":                "''",
	} {
		require.Equal(t, want, sanitize.ShellWord(text))
	}
}
