package codex

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Owner returns the live process that holds the session: by its writer lock, or by the open rollout
// for versions before 0.146, which have no lock, so that turns of two processes may interleave. It
// does not try to take the lock: Codex would fail to take it at that moment, because it does not wait.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	lock, rollout := resolved(a.lockOf(s)), resolved(s.Transcript)
	pids, err := a.Processes.Lockers(lock)
	if err != nil {
		return nil, fmt.Errorf("the session has a lock, and nobody can tell who holds it: %w", err)
	}
	if owner := a.ownerOf(pids, s); owner != nil {
		return owner, nil
	}
	pids, err = a.Processes.Writers(ctx, rollout)
	h, _ := a.reader.Head(s.Transcript)
	if locks, _ := h.Since(146); locks && errors.Is(err, agent.ErrUnseen) {
		return nil, nil // it has no lock: Codex removes the file when it releases a session
	}
	if err != nil {
		return nil, err
	}
	return a.ownerOf(pids, s), nil
}

// ours reports whether the process is the session's current resume. A server that the resume left
// behind also serves people, so it does not count.
func (a *Agent) ours(pid int, s resume.Session) bool {
	return a.Processes.IsRun(pid, s) && !slices.Contains(a.Processes.Argv(pid), serverCommand)
}

// lockOf returns the lock file of the session's writer.
func (a *Agent) lockOf(s resume.Session) string {
	return filepath.Join(a.Homes.Of(s.Transcript), "thread-writer-locks", s.Key.ID+".lock")
}

// resolved returns the path without symbolic links, as the kernel names open files.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// ownerOf returns the first process that is not the session's current resume.
func (a *Agent) ownerOf(pids []int, s resume.Session) *resume.Owner {
	at := slices.IndexFunc(pids, func(pid int) bool { return !a.ours(pid, s) })
	if at < 0 {
		return nil
	}
	argv := a.Processes.Argv(pids[at])
	o := &resume.Owner{PID: pids[at], Kind: resume.Interactive}
	switch {
	case slices.Contains(argv, serverCommand):
		// Its environment comes from the program that started it, not from the terminal.
	case slices.Contains(argv, execCommand):
		o.Kind = resume.Headless
	default:
		o.Tmux = a.Processes.Variable(o.PID, "TMUX_PANE")
	}
	return o
}

// Identify returns the program that the process runs. It ignores servers: Codex or an editor installed
// them for its own use, people run another program.
func (a *Agent) Identify(pid int) (resume.Program, bool) {
	if slices.Contains(a.Processes.Argv(pid), serverCommand) {
		return resume.Program{}, false
	}
	return a.Base.Identify(pid)
}
