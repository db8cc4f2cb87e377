package clean_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"resumed/internal/clean"
)

func TestLine(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain words stay":                {"You've hit your limit · resets 2am", "You've hit your limit · resets 2am"},
		"colours vanish":                  {"\x1b[31mred\x1b[0m", "red"},
		"a title is not set":              {"a\x1b]0;pwned\x07b", "ab"},
		"a link leaves its text":          {"\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\", "here"},
		"no forged line":                  {"one\r\ntwo\n\n  three", "one two three"},
		"a carriage return hides":         {"safe\rfake", "safefake"},
		"direction is not turned":         {"abc\u202edcba", "abcdcba"},
		"8-bit sequences vanish too":      {"a\u009b31mb", "ab"},
		"broken bytes are shown":          {"a\xffb", "a\uFFFDb"},
		"emoji families stay":             {"👩\u200d👧", "👩\u200d👧"},
		"an open string ends at its line": {"\x1b]0;never ends\nnext", "0;never ends next"},
		"a lone escape":                   {"x\x1b", "x"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, clean.Line(c.in)) })
	}
}

func TestTextKeepsBreaks(t *testing.T) {
	require.Equal(t, "a\n\tb", clean.Text("a\n\t\x1b[2Jb\a"))
}

func TestShort(t *testing.T) {
	require.Equal(t, "grün", clean.Short("grün", 4))
	require.Equal(t, "grü…", clean.Short("grünes", 4))
	require.Equal(t, "a…", clean.Short("a bcd", 3))
}

func FuzzText(f *testing.F) {
	f.Add("\x1b[31mred\x1b]0;t\x07\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := clean.Line(s)
		require.NotContains(t, got, "\x1b")
		require.False(t, strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) }), "%q", got)
		require.Equal(t, got, clean.Line(got), "cleaning twice changes nothing")
	})
}
