package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// screen is a terminal with a program in it.
type screen struct {
	b      *box
	master *os.File
	cmd    *exec.Cmd
	mu     sync.Mutex
	shown  strings.Builder
}

// onScreen runs a program in its own terminal.
func (b *box) onScreen(name string, args ...string) *screen {
	b.t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	require.NoError(b.t, err)
	require.NoError(b.t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(b.t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(b.t, err)
	defer slave.Close()
	s := &screen{b: b, master: os.NewFile(uintptr(fd), "/dev/ptmx"), cmd: exec.Command(name, args...)}
	s.cmd.Env, s.cmd.Dir = append(b.env(), "TERM=xterm"), b.home
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(b.t, s.cmd.Start())
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := s.master.Read(buf)
			s.mu.Lock()
			s.shown.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return // the last program in it has ended
			}
		}
	}()
	b.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.master.Close()
	})
	return s
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

func (s *screen) untilShown(text string) {
	s.b.t.Helper()
	defer func() {
		if s.b.t.Failed() {
			s.b.t.Logf("screen: %q", s.text())
		}
	}()
	s.b.until(fmt.Sprintf("%q is shown", text), func() bool { return strings.Contains(s.text(), text) })
}

func (s *screen) press(keys string) {
	s.b.t.Helper()
	_, err := s.master.WriteString(keys)
	require.NoError(s.b.t, err)
}

func (s *screen) code() int {
	s.b.t.Helper()
	done := make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(done) }()
	select {
	case <-done:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		s.b.t.Fatalf("it does not end:\n%s", s.text())
		return -1
	}
}

const ctrlC, ctrlZ = "\x03", "\x1a"

func TestExecLetsACommandReadTheTerminal(t *testing.T) {
	b := newBox(t)
	b.write(configFile, quick)
	s := b.onScreen(program, "exec", "--", "sh", "-c", counting+`printf 'name? '; read name; echo "hello $name"; [ $n -ge 2 ] || { echo "503 Service Unavailable"; exit 1; }`)
	s.untilShown("name? ")
	s.press("Ada\n")
	s.untilShown("hello Ada")
	s.untilShown("\r\x1b[Kresumed: retry 1 of 2 in ")
	b.until("it asks again", func() bool { return strings.Count(s.text(), "name? ") == 2 })
	s.press("Bob\n")
	require.Zero(t, s.code(), s.text())
	s.untilShown("hello Bob")
}

func TestCtrlCGoesToTheCommand(t *testing.T) {
	b := newBox(t)
	s := b.onScreen(program, "exec", "--", "sh", "-c", `trap 'echo caught; exit 33' INT; echo ready; while :; do sleep 0.05; done`)
	s.untilShown("ready")
	s.press(ctrlC)
	require.Equal(t, 33, s.code(), s.text())
}

func TestCtrlCEndsAWait(t *testing.T) {
	b := newBox(t)
	b.write(configFile, quick)
	s := b.onScreen(program, "exec", "--policy", "patient", "--", "sh", "-c", counting+`echo "503 Service Unavailable"; exit 1`)
	s.untilShown("in 10m 0s")
	s.untilShown("in 9m 5") // it counts down
	s.press(ctrlC)
	require.Equal(t, 130, s.code(), s.text())
	require.Equal(t, 1, b.times())
	s.untilShown("stopped waiting")
}

func TestCtrlZStopsAndGoesOn(t *testing.T) {
	shell, err := exec.LookPath("bash")
	require.NoError(t, err, "a shell with job control")
	b := newBox(t)
	s := b.onScreen(shell, "--norc", "--noprofile", "-i")
	s.press("PS1='prompt> '\n")
	// It starts no program while it waits: a shell that waits for a child of vfork, which is stopped before
	// its exec, is not stopped itself.
	s.press(program + ` exec -- sh -c 'echo ready; i=0; while [ ! -e go ]; do :; done; read x; echo "got $x"; exit 5'` + "\n")
	s.untilShown("\rready") // not the echo of the typed text
	s.press(ctrlZ)
	s.untilShown("Stopped")
	s.press("echo alive-$((1+1))\n")
	s.untilShown("alive-2")
	s.press("fg\n")
	b.write("go", "")
	b.until("the shell has passed the terminal on", func() bool {
		group, err := unix.IoctlGetInt(int(s.master.Fd()), unix.TIOCGPGRP)
		return err == nil && group != s.cmd.Process.Pid
	})
	s.press("water\n")
	s.untilShown("got water")
	s.press("echo code-$?\n")
	s.untilShown("code-5")
	s.press("exit\n")
}
