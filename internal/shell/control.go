package shell

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

func (s *Shell) raw() { _, _ = term.MakeRaw(int(s.in.Fd())) }

func (s *Shell) restore() { _ = term.Restore(int(s.in.Fd()), s.modes) }

func (s *Shell) resize() {
	size, err := pty.GetsizeFull(s.in)
	if err != nil || size.Cols == 0 || size.Rows == 0 {
		return
	}
	s.display.Lock()
	s.screen.Resize(int(size.Cols), int(size.Rows))
	s.display.Unlock()
	_ = pty.Setsize(s.pty, size) // the kernel tells the agent
}

func (s *Shell) followSignals() (stop func()) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGCONT)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sig := range signals {
			switch sig {
			case syscall.SIGWINCH:
				s.resize()
			case syscall.SIGCONT: // somebody else stopped this process: the shell has changed the modes
				s.raw()
				s.resize()
			default:
				s.signal(sig.(syscall.Signal))
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-done
	}
}

// signal sends a signal to what runs in the foreground of the agent's terminal.
func (s *Shell) signal(sig syscall.Signal) {
	group, err := unix.IoctlGetInt(int(s.pty.Fd()), unix.TIOCGPGRP)
	if err != nil || group <= 0 {
		group = s.leader
	}
	_ = syscall.Kill(-group, sig)
}

// stopTime is how long it may take until a signal has stopped this process. In a terminal without a
// shell it never does.
const stopTime = 200 * time.Millisecond

// suspend stops this process as the agent has stopped, and continues the agent with it.
func (s *Shell) suspend() {
	s.restore()
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-continued:
	case <-time.After(stopTime):
	}
	signal.Stop(continued)
	s.raw()
	s.resize()
	_ = syscall.Kill(s.leader, syscall.SIGCONT)
}

// Lead runs a program until it ends, and returns its exit code. It is the first process of the agent's
// terminal. If that were the agent itself, the kernel would not let it stop when it is suspended.
func Lead(program string, argv []string) (code int, err error) {
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	before, _ := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
	adopt()
	agent, err := os.StartProcess(program, argv, &os.ProcAttr{Files: files, Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", program, err)
	}
	toForeground(agent.Pid)
	if now, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ); err == nil && before != nil && *now != *before {
		// It changed before the agent was in the foreground, so the kernel told only this process.
		_ = syscall.Kill(-agent.Pid, syscall.SIGWINCH)
	}
	signal.Ignore(syscall.SIGHUP, syscall.SIGTTOU) // not before: the agent would inherit it
	for {
		status, err := waitFor(agent.Pid, -1) // this process has those that lost their parents too
		switch {
		case err != nil:
			return 0, fmt.Errorf("wait for %s: %w", program, err)
		case status.Signaled():
			return codeSignal + int(status.Signal()), nil
		case !status.Stopped():
			return status.ExitStatus(), nil
		}
		if sig := status.StopSignal(); sig == syscall.SIGTTIN || sig == syscall.SIGTTOU {
			toForeground(agent.Pid) // it used the terminal before it was in the foreground
		} else {
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // Shell.wait notices it
		}
		_ = syscall.Kill(-agent.Pid, syscall.SIGCONT)
	}
}

func toForeground(group int) { _ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, group) }
