package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"resumed/internal/resume"
	"resumed/internal/terminal/terminaltest"
)

// seat is a person at a terminal that nothing else can type into.
type seat struct {
	*liveBox
	*os.File // the other side of the terminal
	cmd      *exec.Cmd

	mu    sync.Mutex // guards what follows
	shown bytes.Buffer
}

// sit starts a command in such a terminal.
func (b *liveBox) sit(env []string, argv ...string) *seat {
	b.t.Helper()
	s := &seat{liveBox: b, cmd: exec.Command(argv[0], argv[1:]...)}
	s.cmd.Env, s.cmd.Dir = append(append(b.env(), "TERM=xterm-256color"), env...), b.path("bot")
	s.File = terminaltest.Open(b.t, s.cmd)
	b.t.Cleanup(func() {
		if text := s.text(); b.t.Failed() {
			b.t.Logf("shown: %q", text[max(0, len(text)-2000):])
		}
	})
	go func() {
		_, _ = io.Copy(writer(func(p []byte) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.shown.Write(p)
		}), s.File)
	}()
	return s
}

// on carries out a request on the terminal.
func (s *seat) on(request func(fd int) error) {
	s.t.Helper()
	conn, err := s.SyscallConn()
	require.NoError(s.t, err)
	require.NoError(s.t, conn.Control(func(fd uintptr) { err = request(int(fd)) }))
	require.NoError(s.t, err)
}

// shell starts a stand-in in a resumed shell.
func (b *liveBox) shell(s standIn) *seat {
	b.t.Helper()
	self, err := os.Executable()
	require.NoError(b.t, err)
	b.windows++
	seat := b.sit([]string{standInVariable(b.t, s)}, b.binary, "shell", self)
	b.awaitRegistered(s)
	return seat
}

func (s *seat) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

func (s *seat) untilShown(text string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%q is shown", text), func() bool { return strings.Contains(s.text(), text) })
}

func (s *seat) types(keys string) {
	s.t.Helper()
	_, err := s.WriteString(keys)
	require.NoError(s.t, err)
}

func (s *seat) code() int {
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

func (s *seat) modes() (modes *unix.Termios) {
	s.t.Helper()
	s.on(func(fd int) (err error) {
		modes, err = unix.IoctlGetTermios(fd, unix.TCGETS)
		return err
	})
	return modes
}

// What the agent leaves in the background does not keep the person waiting.
func TestShellEndsWithItsAgent(t *testing.T) {
	b := newLiveBox(t)
	s := b.sit(nil, b.binary, "shell", "sh", "-c", "setsid --fork sleep 100; echo LAST; exit 4")
	require.Equal(t, 4, s.code())
	s.untilShown("LAST")
}

func TestShellIsTypedInto(t *testing.T) {
	t.Parallel()
	for name, restarts := range map[string]bool{"a": false, "b": true} { // short: it is in the path of sockets
		t.Run(name, func(t *testing.T) {
			b := newLiveBox(t)
			b.start()
			if restarts {
				b.steer("pause")
			}
			s := b.shell(b.standIn())
			b.overloaded()
			if restarts {
				b.untilState(liveID, resume.Waiting)
				b.kill(syscall.SIGKILL)
				b.start()
				b.steer("unpause")
			}
			b.untilState(liveID, resume.Watching)
			require.Equal(t, "continue\r", b.keys())
			require.Equal(t, 1, b.prompts())
			require.Empty(t, b.read("runs"), "it goes on where it is")
			out, errOut, code := b.run("shell")
			require.Zero(t, code, errOut)
			require.Contains(t, out, "in its own window   # "+filepath.Base(os.Args[0])+" in "+b.path("bot"))

			require.NoError(t, s.Close()) // its window
			b.until("the agent has ended", func() bool {
				files, _ := filepath.Glob(b.path(".claude/sessions/*"))
				return len(files) == 0
			})
			require.Equal(t, 129, s.code())
		})
	}
}

func TestShellGivesWay(t *testing.T) {
	b := newLiveBox(t)
	b.start()
	s := b.shell(b.standIn())
	s.types("\x0c") // it changes nothing on the screen
	b.until("the key arrives", func() bool { return b.keys() != "" })
	b.overloaded()
	b.until("the daemon waits", func() bool {
		return strings.Contains(b.session(liveID).Reason, "somebody was at its keyboard just now")
	})
	require.Equal(t, "\x0c", b.keys())
}

// Every byte arrives, in both directions.
func TestShellChangesNothing(t *testing.T) {
	b := newLiveBox(t)
	sent := make([]byte, 0, 8<<20)
	for i := 0; len(sent) < 8<<20; i++ {
		hash := sha256.Sum256(fmt.Append(nil, i))
		sent = append(sent, hash[:]...)
	}
	b.write("sent", string(sent))
	s := b.sit(nil, b.binary, "shell", "sh", "-c", "stty raw -echo; printf BEGIN; cat "+b.path("sent"))
	require.Zero(t, s.code())
	b.until("all is shown", func() bool { return len(s.text()) >= len(sent)+5 })
	require.Equal(t, "BEGIN", s.text()[:5])
	require.True(t, s.text()[5:] == string(sent))

	var keys []byte
	for i := range 256 {
		keys = append(keys, byte(i))
	}
	keys = append(keys, "\x1b[200~pasted\n漢字\x1b[201~\x1b[<0;1;1M"...)
	s = b.sit(nil, b.binary, "shell", "sh", "-c", fmt.Sprintf("stty raw -echo; printf READY; head -c %d > %s", len(keys), b.path("got")))
	s.untilShown("READY")
	s.types(string(keys))
	require.Zero(t, s.code())
	require.Equal(t, string(keys), b.read("got"))
}

func TestShellFollowsItsTerminal(t *testing.T) {
	b := newLiveBox(t)
	s := b.sit(nil, b.binary, "shell", "sh", "-c", `trap 'echo [$(stty size)]' WINCH; echo "[$(stty size)]"; stty -a; while :; do sleep 0.1; done`)
	s.untilShown("[40 120]")
	s.on(func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: 77, Row: 33}) })
	s.untilShown("[33 77]")
	s.types("\x03") // the agent's own terminal makes a signal of it
	require.Equal(t, 130, s.code())
}

func TestShellLeavesTheTerminalAsItWas(t *testing.T) {
	b := newLiveBox(t)
	s := b.sit(nil, "sh", "-c", "stty -a; echo FIRST; read x; "+b.binary+" shell sh -c 'stty raw -echo; printf \"\\033[?1049h\"; echo UP; read x; kill -9 $$'; echo CODE $?; sleep 100")
	s.untilShown("FIRST")
	before := s.modes()
	s.types("\n")
	s.untilShown("UP")
	require.NotEqual(t, before, s.modes())
	s.types("\n")
	s.untilShown("CODE 137")
	require.Equal(t, before, s.modes())
	require.Contains(t, s.text(), "\x1b[?1049l", "what was killed cannot take back its modes")
}

// The agent stops, and with it the job of the person's own shell; nothing is lost.
func TestShellIsSuspended(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("SKIPPED: there is no bash")
	}
	b := newLiveBox(t)
	s := b.sit([]string{"PS1=ready> "}, "bash", "--norc", "-i")
	s.untilShown("ready> ")
	s.types(b.binary + " shell sh -c 'echo U$((0))P; exec cat'\n")
	s.untilShown("U0P\r\n") // the person's terminal no longer echoes
	s.types("one\n")
	s.untilShown("one\r\none\r\n")
	s.types("\x1a")
	s.untilShown("Stopped")
	s.types("echo $((40+2)); fg\n")
	s.untilShown("42\r\n")
	b.until("keys are passed on", func() bool { return s.modes().Lflag&unix.ICANON == 0 })
	s.types("two\n")
	s.untilShown("two\r\ntwo\r\n")
	prompts := strings.Count(s.text(), "ready> ")
	s.types("\x04")
	b.until("the shell is back", func() bool { return strings.Count(s.text(), "ready> ") > prompts })
	s.types("echo code $?\n")
	s.untilShown("code 0\r\n")
}
