package terminal

import (
	"context"
	"fmt"

	"resumed/internal/procfs"
)

// prove returns no error if keys typed into the window reach the process: it descends from the
// window's first process, has the window's terminal, and is in the foreground there. Keys for a
// program in the background, or in a terminal inside the window, would reach a shell or an
// editor.
func (p *Pane) prove(ctx context.Context) (Facts, error) {
	facts, err := p.window.Facts(ctx)
	if err != nil {
		return facts, err
	}
	pid := p.process.PID
	s, err := procfs.Proc.Stat(pid)
	switch {
	case err != nil || !s.Living() || p.process.Start != 0 && s.Start != p.process.Start:
		return facts, &Refusal{Why: fmt.Sprintf("process %d is gone", pid), Passing: true}
	case !descends(pid, facts.Root):
		return facts, &Refusal{Why: fmt.Sprintf("it does not belong to the %s that it names", p.window.Kind())}
	case s.TTY == 0 || s.TTY != facts.TTY:
		return facts, &Refusal{Why: fmt.Sprintf("it has another terminal than its %s", p.window.Kind())}
	case s.Group != s.Foreground || s.State == 'T' || s.State == 't':
		return facts, &Refusal{Why: fmt.Sprintf("process %d is not in the foreground of its %s", pid, p.window.Kind()), Passing: true}
	}
	return facts, nil
}

// maxDepth is far more than the depth of any process tree.
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
