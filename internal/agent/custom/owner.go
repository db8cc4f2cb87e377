package custom

import (
	"context"
	"path/filepath"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Owner returns the process that may hold the session: one that an earlier resume left behind, else one of
// the configured program, if it works in the session's directory or names the session.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	if left, err := a.silentRun(ctx, s); left != nil || err != nil || len(a.program) == 0 {
		return left, err
	}
	is := func(path string) bool { return filepath.Base(path) == a.program[0] }
	return a.Processes.Neighbour(ctx, s, is, a.program[1:]...)
}

// silentRun returns a process of an earlier resume after which neither progress nor a refusal was written: a
// command that goes into the background ends at once, before its work is done. After some output, a process
// that still runs, such as a server, holds nothing. What else a user's own agent holds cannot be known.
func (a *Agent) silentRun(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	silent := make(map[string]bool)
	for _, attempt := range s.Attempts {
		if attempt.Outcome == resume.NoProgress {
			silent[attempt.Mark] = true
		}
	}
	if len(silent) == 0 {
		return nil, nil
	}
	marked, err := a.Processes.Having(ctx, agent.MarkVariable)
	for pid, mark := range marked {
		if silent[mark] {
			return &resume.Owner{PID: pid, Kind: "headless"}, nil
		}
	}
	return nil, err
}
