//go:build !windows

package shell

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Lead runs a program until it ends, and returns its exit code. It is the first process of the agent's
// terminal. If that were the agent itself, the kernel would not let it stop when it is suspended.
func Lead(program string, argv []string) (code int, err error) {
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	agent, err := os.StartProcess(program, argv, &os.ProcAttr{Files: files, Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", program, err)
	}
	toForeground(agent.Pid)
	signal.Ignore(syscall.SIGHUP, syscall.SIGTTOU) // not before: the agent would inherit it
	for {
		status, err := waitFor(agent.Pid)
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

// toForeground makes a process group the one that reads from the terminal.
func toForeground(group int) { _ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, group) }
