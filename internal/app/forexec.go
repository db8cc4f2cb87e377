package app

import (
	"context"

	"resumed/internal/agent"
	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// Tidy removes what a run of the session left behind that must not stay. It is
// for runs that no daemon started.
func Tidy(ctx context.Context, cfg config.Config, session resume.Session) error {
	agents, err := agents.Make(cfg)
	if err != nil {
		return err
	}
	if tidier, ok := agents[session.Key.Agent].(agent.Tidier); ok {
		return tidier.Tidy(ctx, session)
	}
	return nil
}

// LeftRunning returns the process of a resume of the session that lives without
// a daemon that looks after it. It is for runs that no daemon starts.
func LeftRunning(ctx context.Context, cfg config.Config, session resume.Session) (pid int, found bool, err error) {
	agents, err := agents.Make(cfg)
	if err != nil {
		return 0, false, err
	}
	a := agents[session.Key.Agent]
	if a == nil {
		return 0, false, nil
	}
	owner, err := a.Owner(ctx, session)
	if err != nil || owner == nil {
		return 0, false, err
	}
	return owner.PID, owner.Kind == "headless" && procfs.Proc.Variable(owner.PID, agent.MarkVariable) != "", nil
}
