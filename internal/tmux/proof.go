package tmux

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// variables returns TMUX and TMUX_PANE of a process's environment.
func variables(pid int) (server, pane string, err error) {
	environ, err := procfs.Proc.Environ(pid)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "", "", &Refusal{Why: fmt.Sprintf("process %d is gone", pid), Passing: true}
	}
	if err != nil {
		return "", "", err // it names the process
	}
	for _, entry := range environ {
		switch name, value, _ := strings.Cut(entry, "="); name {
		case "TMUX":
			server = value
		case "TMUX_PANE":
			pane = value
		}
	}
	return server, pane, nil
}

// belongs returns nil where the process is the one that reads the pane's keys:
// it descends from the pane's first process, its terminal is the pane's, and
// it is in the foreground there. A program that was moved to the background, or
// that lives in a terminal within the pane, is somewhere else: what is typed
// would reach a shell or an editor.
func belongs(process resume.Process, panePID, paneTTY string) error {
	s, err := procfs.Proc.Stat(process.PID)
	if err != nil || !s.Living() || process.Start != 0 && s.Start != process.Start {
		return &Refusal{Why: fmt.Sprintf("process %d is gone", process.PID), Passing: true}
	}
	root, err := strconv.Atoi(panePID)
	if err != nil || !descends(process.PID, root) {
		return &Refusal{Why: "it does not belong to the tmux pane that it names"}
	}
	device, err := procfs.Terminal(paneTTY)
	if err != nil {
		return fmt.Errorf("look at the pane's terminal: %w", err)
	}
	if s.TTY != device {
		return &Refusal{Why: "it has another terminal than its tmux pane"}
	}
	if s.Group != s.Foreground || s.State == 'T' || s.State == 't' {
		return &Refusal{Why: fmt.Sprintf("process %d is not in the foreground of its tmux pane", process.PID), Passing: true}
	}
	return nil
}

// maxDepth is far beyond how deep processes start each other.
const maxDepth = 1000

func descends(pid, root int) bool {
	for range maxDepth {
		if pid == root {
			return true
		}
		s, err := procfs.Proc.Stat(pid)
		if err != nil || pid <= 1 {
			return false
		}
		pid = s.Parent
	}
	return false
}
