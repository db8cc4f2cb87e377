package vtscreen

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tmuxServer shows bytes in a real terminal, which is the reference.
type tmuxServer struct {
	t   *testing.T
	dir string
	n   int
}

func newTmux(t *testing.T) *tmuxServer {
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: SCREENS ARE NOT COMPARED HERE: there is no tmux")
	}
	dir, err := os.MkdirTemp("", "vt") // the path of a socket may not be long
	require.NoError(t, err)
	s := &tmuxServer{t: t, dir: dir}
	s.call("-f", "/dev/null", "new-session", "-d", "-s", "keep", "sleep 1000", ";", "set-option", "-g", "status", "off")
	t.Cleanup(func() {
		s.call("kill-server")
		_ = os.RemoveAll(dir)
	})
	return s
}

func (s *tmuxServer) call(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", filepath.Join(s.dir, "s")}, args...)...).CombinedOutput()
	require.NoError(s.t, err, "%s", out)
	return string(out)
}

// shows returns what tmux shows of the bytes, and the same with sequences for colours and the like.
func (s *tmuxServer) shows(cols, rows int, output []byte) (text, styled string) {
	s.t.Helper()
	s.n++
	name := fmt.Sprint("w", s.n)
	file := filepath.Join(s.dir, name)
	require.NoError(s.t, os.WriteFile(file, output, 0o600))
	script := fmt.Sprintf("stty raw -echo; cat %s; tmux -S %s/s wait-for -S %s; exec sleep 1000", file, s.dir, name)
	s.call("-f", "/dev/null", "new-session", "-d", "-s", name, "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), script)
	s.call("wait-for", name)
	defer s.call("kill-session", "-t", name)
	return s.call("capture-pane", "-p", "-t", name), s.call("capture-pane", "-e", "-p", "-t", name)
}

// colours are the codes of colours, and of lines in several forms.
var colours = regexp.MustCompile(`[345]8[;:](5[;:]\d+|2([;:]\d*){3,4})|4:\d`)

// looks shows how each character but a space is shown: d is dim, i inverse, b both.
func looks(styled string) (rows []string) {
	dim, inverse := false, false
	for row := range strings.Lines(styled) {
		var marks strings.Builder
		for i, part := range strings.Split(strings.TrimSuffix(row, "\n"), "\x1b[") {
			if i > 0 {
				var codes string
				codes, part, _ = strings.Cut(part, "m")
				for code := range strings.SplitSeq(colours.ReplaceAllString(codes, "1"), ";") {
					switch code {
					case "", "0":
						dim, inverse = false, false
					case "2":
						dim = true
					case "7":
						inverse = true
					}
				}
			}
			mark := map[[2]bool]string{{}: " ", {true}: "d", {false, true}: "i", {true, true}: "b"}[[2]bool{dim, inverse}]
			for _, r := range part {
				if r == ' ' { // one at the end of a row is left out
					marks.WriteByte(' ')
				} else {
					marks.WriteString(mark)
				}
			}
		}
		rows = append(rows, strings.TrimRight(marks.String(), " "))
	}
	return rows
}

// pieces are what programs print, with random numbers for %d. What tmux does not know or does otherwise
// than xterm is not among them.
var pieces = []string{
	"hello", "the quick brown fox jumps over the lazy dog", " ", "é", "─────", "❯\u00a0",
	"\r", "\n", "\r\n", "\b", "\t", "\x1b[%dA", "\x1b[%dB", "\x1b[%dC", "\x1b[%dD", "\x1b[%dE", "\x1b[%dF", "\x1b[%dG", "\x1b[%d;%dH", "\x1b[H", "\x1b[%dd",
	"\x1b[J", "\x1b[1J", "\x1b[2J", "\x1b[3J", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[%dX", "\x1b[%d@", "\x1b[%dP", "\x1b[%dL", "\x1b[%dM", "\x1b[%dS", "\x1b[%dT",
	"\x1b7", "\x1b8", "\x1b[s", "\x1b[u", "\x1bD", "\x1bE", "\x1bM", "\x1b[?7l", "\x1b[?7h",
	"\x1b[2m", "\x1b[7m", "\x1b[22m", "\x1b[27m", "\x1b[m", "\x1b[0;2m", "\x1b[7;38;5;2m", "\x1b[2;48;2;7;2;7m", "\x1b[38:2::7:2:7;7m", "\x1b[58:5:7;2m", "\x1b[4:2m",
	"\x1b[?1049h", "\x1b[?1049l", "\x1b[31;1m", "\x1b[0m", "\x1b[38:2::1:2:3m", "\x1b]0;title\a", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
	"\x1b[?2026h", "\x1b[>1u", "\x1b[<u", "\x1b[?u", "\x1b[>4;2m", "\x1b[c", "\x1b[6n", "\x1b_Gi=1\x1b\\", "\x1bP+q544e\x1b\\",
	"\x1b[%dZ",
}

func randomOutput(random *rand.Rand) []byte {
	var b strings.Builder
	for range random.IntN(120) {
		piece := pieces[random.IntN(len(pieces))]
		for strings.Contains(piece, "%d") {
			piece = strings.Replace(piece, "%d", fmt.Sprint(1+random.IntN(13)), 1)
		}
		b.WriteString(piece)
	}
	return []byte(b.String())
}

func TestRandomOutputIsShownAsByTmux(t *testing.T) {
	server := newTmux(t)
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		cols, rows := 10+random.IntN(40), 4+random.IntN(10)
		output := randomOutput(random)
		s := New(cols, rows)
		_, _ = s.Write(output)
		text, styled := server.shows(cols, rows, output)
		require.Equal(t, text, s.Text(), "seed %d, %d×%d: %q", seed, cols, rows, output)
		require.Equal(t, looks(styled), looks(s.Styled()), "seed %d, %d×%d: %q", seed, cols, rows, output)
	}
}
