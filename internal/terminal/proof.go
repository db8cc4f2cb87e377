package terminal

import (
	"context"
	"fmt"

	"resumed/internal/procfs"
)

// prove returns nil where keys typed into the window reach the process: it descends
// from the window's first process, its terminal is the window's, and it is in the
// foreground there. A program that was moved to the background, or
// that lives in a terminal within the window, is somewhere else: what is typed
// would reach a shell or an editor.
func (p *Pane) prove(ctx context.Context) error {
	facts, err := p.window.Facts(ctx)
	if err != nil {
		return err
	}
	pid := p.process.PID
	s, err := procfs.Proc.Stat(pid)
	switch {
	case err != nil || !s.Living() || p.process.Start != 0 && s.Start != p.process.Start:
		return &Refusal{Why: fmt.Sprintf("process %d is gone", pid), Passing: true}
	case !descends(pid, facts.Root):
		return &Refusal{Why: fmt.Sprintf("it does not belong to the %s that it names", p.window.Kind())}
	case s.TTY == 0 || s.TTY != facts.TTY:
		return &Refusal{Why: fmt.Sprintf("it has another terminal than its %s", p.window.Kind())}
	case s.Group != s.Foreground || s.State == 'T' || s.State == 't':
		return &Refusal{Why: fmt.Sprintf("process %d is not in the foreground of its %s", pid, p.window.Kind()), Passing: true}
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
