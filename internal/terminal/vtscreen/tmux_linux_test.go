package vtscreen

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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

// shows returns what tmux shows of the bytes.
func (s *tmuxServer) shows(cols, rows int, output []byte) string {
	s.t.Helper()
	s.n++
	name := fmt.Sprint("w", s.n)
	file := filepath.Join(s.dir, name)
	require.NoError(s.t, os.WriteFile(file, output, 0o600))
	script := fmt.Sprintf("stty raw -echo; cat %s; tmux -S %s/s wait-for -S %s; exec sleep 1000", file, s.dir, name)
	s.call("-f", "/dev/null", "new-session", "-d", "-s", name, "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), script)
	s.call("wait-for", name)
	defer s.call("kill-session", "-t", name)
	return s.call("capture-pane", "-p", "-t", name)
}

// pieces are what programs print, with random numbers for %d. What tmux does not know or does otherwise
// than xterm is not among them.
var pieces = []string{
	"hello", "the quick brown fox jumps over the lazy dog", " ", "é", "─────", "❯\u00a0",
	"\r", "\n", "\r\n", "\b", "\t", "\x1b[%dA", "\x1b[%dB", "\x1b[%dC", "\x1b[%dD", "\x1b[%dE", "\x1b[%dF", "\x1b[%dG", "\x1b[%d;%dH", "\x1b[H", "\x1b[%dd",
	"\x1b[J", "\x1b[1J", "\x1b[2J", "\x1b[3J", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[%dX", "\x1b[%d@", "\x1b[%dP", "\x1b[%dL", "\x1b[%dM", "\x1b[%dS", "\x1b[%dT",
	"\x1b7", "\x1b8", "\x1b[s", "\x1b[u", "\x1bD", "\x1bE", "\x1bM", "\x1b[?7l", "\x1b[?7h",
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
		require.Equal(t, server.shows(cols, rows, output), s.Text(), "seed %d, %d×%d: %q", seed, cols, rows, output)
	}
}
