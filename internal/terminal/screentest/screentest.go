// Package screentest runs a real GNU screen, for tests.
package screentest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long GNU screen may take on a busy machine.
const patience = time.Minute

// Session is a session of GNU screen with one window.
type Session struct {
	t    *testing.T
	Dir  string // of its socket
	Name string // PID.NAME
	PID  int    // of the server
}

// The size of the window.
const (
	columns = 120
	rows    = 40
)

// Start runs a command in a window that nobody shows.
func Start(t *testing.T, dir string, env []string, argv ...string) *Session {
	t.Helper()
	if _, err := exec.LookPath("screen"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("GNU SCREEN IS NOT TESTED HERE: there is no program screen")
	}
	sockets, err := os.MkdirTemp("", "sc") // the paths of sockets must be short
	require.NoError(t, err)
	s := &Session{t: t, Dir: sockets}
	words := []string{"stty", "cols", strconv.Itoa(columns), "rows", strconv.Itoa(rows), "&&", "exec", "screen", "-c", "/dev/null", "-U", "-S", "box"}
	for _, arg := range argv {
		words = append(words, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
	}
	// It takes its size from the terminal that shows it, which is left at once.
	client := exec.Command("script", "-qec", strings.Join(words, " "), "/dev/null")
	client.Dir, client.Env = dir, append(env, "SCREENDIR="+sockets, "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	_, err = client.StdinPipe() // nobody types
	require.NoError(t, err)
	require.NoError(t, client.Start())
	t.Cleanup(s.Stop)
	s.Until("the server listens", func() bool {
		found, _ := filepath.Glob(filepath.Join(sockets, "*.box"))
		if len(found) == 0 {
			return false
		}
		s.Name = filepath.Base(found[0])
		s.PID, err = strconv.Atoi(strings.TrimSuffix(s.Name, ".box"))
		return err == nil
	})
	s.Until("the window is there", func() bool { return s.Root() != 0 })
	out, err := s.Command("-d").CombinedOutput()
	require.Contains(t, string(out), "detached", "%v", err)
	_ = client.Wait()
	return s
}

// Stop ends the session.
func (s *Session) Stop() {
	if s.PID != 0 {
		_ = syscall.Kill(s.PID, syscall.SIGTERM)
	}
	s.Until("the server has ended", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID))
		return err != nil || strings.Contains(string(stat), ") Z ") // a zombie: some systems remove it seconds later
	})
	os.RemoveAll(s.Dir)
}

// Command returns the program screen, with the session's socket.
func (s *Session) Command(args ...string) *exec.Cmd {
	cmd := exec.Command("screen", append([]string{"-S", s.Name}, args...)...)
	cmd.Env = append(os.Environ(), "SCREENDIR="+s.Dir, "TERM=xterm-256color", "STY=", "WINDOW=")
	return cmd
}

// Do sends a command to the first window.
func (s *Session) Do(args ...string) {
	s.t.Helper()
	out, err := s.Command(append([]string{"-p", "0", "-X"}, args...)...).CombinedOutput()
	require.NoError(s.t, err, "%s", out)
}

// Hardcopy returns the text in the window, as far as screen 4 tells it: the lowest byte of each character.
func (s *Session) Hardcopy() string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "hardcopy")
	s.Do("hardcopy", file)
	var data []byte
	s.Until("it is written", func() bool {
		data, _ = os.ReadFile(file)
		return strings.Count(string(data), "\n") == rows
	})
	return string(data)
}

// Root returns the first process of a window; 0: it is gone.
func (s *Session) Root() int {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.PID, s.PID))
	first, _, _ := strings.Cut(string(data), " ")
	pid, _ := strconv.Atoi(first)
	return pid
}

// Until waits until ok returns true.
func (s *Session) Until(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatal("waited in vain: ", what)
		}
	}
}
