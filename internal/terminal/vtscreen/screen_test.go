package vtscreen

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func show(cols, rows int, output string) string {
	s := New(cols, rows)
	_, _ = s.Write([]byte(output))
	return strings.TrimRight(s.Text(), "\n")
}

func TestWhatIsShown(t *testing.T) {
	for name, c := range map[string]struct{ output, want string }{
		"text wraps at the edge":                   {"0123456789ab", "0123456789\nab"},
		"the edge itself does not wrap":            {"0123456789\r\nab", "0123456789\nab"},
		"without wrapping the last column changes": {"\x1b[?7l0123456789ab", "012345678b"},
		"rows scroll away":                         {"1\r\n2\r\n3\r\n4\r\n5", "2\n3\n4\n5"},
		"only the rows of a region scroll":         {"1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\n5", "1\n3\n5\n4"},
		"a program's second screen is left":        {"main\x1b[?1049hmenu\x1b[?1049l!", "main!"},
		"and shown meanwhile":                      {"main\x1b[?1049h\x1b[Hmenu", "menu"},
		"wide characters take two cells":           {"漢字\x1b[1;5Hx", "漢字x"},
		"half of one is not left":                  {"漢字\x1b[1;2Hx", " x字"},
		"and do not cross the edge":                {"012345678漢", "012345678\n漢"},
		"accents belong to their letter":           {"e\u0301\x1b[1;2Hx", "e\u0301x"},
		"and to wide ones":                         {"漢\u0301x", "漢\u0301x"},
		"text is inserted":                         {"abc\x1b[1;2H\x1b[4hxy\x1b[4l!", "axy!c"},
		"a character is repeated":                  {"ab\x1b[3bc", "abbbbc"},
		"lines are drawn":                          {"\x1b(0lqk\x1b(Bq", "┌─┐q"},
		"also by the other set":                    {"\x1b)0\x0eq\x0fq", "─q"},
		"origin counts from the region":            {"\x1b[2;3r\x1b[?6h\x1b[1;1Hx", "\nx"},
		"titles and links are not text":            {"\x1b]0;a title\a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\x1bPq#0\x1b\\!", "link!"},
		"nor are pictures":                         {"\x1b_Gi=1;AAAA\x1b\\x", "x"},
		"modes of the keyboard move nothing":       {"ab\x1b[>1u\x1b[<u\x1b[?u\x1b[>4;2mc", "abc"},
		"questions neither":                        {"ab\x1b[c\x1b[6n\x1b[?996n\x1b[>0qc", "abc"},
		"colours with colons":                      {"\x1b[38:2::1:2:3mab\x1b[4:3mc", "abc"},
		"a sequence is cancelled":                  {"a\x1b[12\x18b", "ab"},
		"and begun again":                          {"a\x1b[12\x1b[1;5Hb", "a   b"},
		"a text that does not end with ST":         {"\x1b]0;title\x1b[1;3Hx", "  x"},
		"tabs":                                     {"\tx\x1b[1Zy", "        yx"[:9]},
		"everything is reset":                      {"abc\x1b[2;3r\x1bcx", "x"},
		"bytes that are no text":                   {"a\xff\xfeb", "a\ufffd\ufffdb"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, show(10, 4, c.output))
			s := New(10, 4)
			for _, b := range []byte(c.output) { // however it is cut into pieces
				_, _ = s.Write([]byte{b})
			}
			require.Equal(t, c.want, strings.TrimRight(s.Text(), "\n"))
		})
	}
}

// What the real Claude Code printed in a terminal of several sizes is shown as tmux showed it. The name
// of each screen is how much was printed by then, and the size.
func TestScreensOfClaudeCode(t *testing.T) {
	dir := filepath.Join("testdata", "claude-code-2.1.325")
	output, err := os.ReadFile(filepath.Join(dir, "output"))
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	require.NoError(t, err)
	require.Greater(t, len(files), 40)
	s, shown := New(140, 45), 0
	for _, file := range files { // in the order of their names
		var end, cols, rows int
		_, err := fmt.Sscanf(filepath.Base(file), "%06d-%dx%d.txt", &end, &cols, &rows)
		require.NoError(t, err)
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		s.Resize(cols, rows)
		_, _ = s.Write(output[shown:end])
		shown = end
		require.Equal(t, string(want), s.Text(), file)
	}
}

func TestASmallerScreenHasTheCursor(t *testing.T) {
	s := New(10, 4)
	_, _ = s.Write([]byte("1\r\n2\r\n3\r\n4"))
	s.Resize(5, 2)
	_, _ = s.Write([]byte("!"))
	require.Equal(t, "3\n4!\n", s.Text())
	s.Resize(0, -1)
	s.Resize(1<<40, 1<<40)
	_, _ = s.Write([]byte("x"))
	require.Len(t, s.Text(), maxSide+1)
}

// Output may come in any pieces. Long output is not interpreted whole: plain lines that scroll away are skipped.
func FuzzOutputInOnePieceOrInMany(f *testing.F) {
	f.Add([]byte("漢\x1b[5@\x1b[3P\x1b[2J"), 10, 4)
	for _, line := range []string{"1234567\r\n", "1\n2\r\n", "a line that wraps at the edge\r\n", "\x1b[2;3r\n1\r\n", "1\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\x1b[b"} {
		f.Add([]byte(strings.Repeat(line, 30)+"end"), 10, 4)
	}
	f.Fuzz(func(t *testing.T, output []byte, cols, rows int) {
		whole, pieces := New(cols%100, rows%100), New(cols%100, rows%100)
		for _, s := range []*Screen{whole, pieces} { // what scrolls away leaves nothing behind
			_, _ = s.Write(bytes.Repeat([]byte("#"), s.cols*s.rows))
		}
		for range 2 {
			_, _ = whole.Write(output)
			for i := range output {
				_, _ = pieces.Write(output[i : i+1])
			}
			require.Equal(t, pieces.Styled(), whole.Styled())
			require.Equal(t, pieces.cursor, whole.cursor)
			require.Equal(t, whole.rows, strings.Count(whole.Text(), "\n"))
			whole.Resize(rows%50, cols%50)
			pieces.Resize(rows%50, cols%50)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	line := "\x1b[31mabc\x1b[0m the quick brown fox jumps over the lazy dog ─── 漢字 " + strings.Repeat("x", 60) + "\r\n"
	output := []byte(strings.Repeat(line, 400))
	s := New(140, 45)
	b.SetBytes(int64(len(output)))
	for b.Loop() {
		_, _ = s.Write(output)
	}
}
