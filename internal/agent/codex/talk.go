package codex

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// Talk returns how a session is continued while a live process holds it: by a queued message. The process
// takes it when it is idle, whatever its terminal shows, and keeps its directory, model and permissions.
func (a *Agent) Talk(ctx context.Context, s resume.Session, owner resume.Owner, w agent.Words) (agent.Plan, error) {
	if err := ctx.Err(); err != nil {
		return agent.Plan{}, err
	}
	if plan, stands, err := a.stands(ctx, s); !stands {
		return plan, err
	}
	if owner.Kind == resume.Headless {
		return agent.Runs(owner), nil
	}
	works, err := rollout.Works(ctx, s.Transcript)
	if err != nil {
		return agent.Plan{}, err
	}
	if works {
		return agent.Left(fmt.Sprintf("process %d works on the session", owner.PID)), nil
	}
	if !readsQueue(a.Processes.Argv(owner.PID)) {
		return agent.Parked("it serves another program, and a queued message is not known to reach that"), nil
	}
	lockers, err := a.Processes.Lockers(resolved(a.lockOf(s)))
	if err != nil {
		return agent.Plan{}, err
	}
	if !slices.Contains(lockers, owner.PID) {
		return agent.Parked("it is of a version before 0.146, which takes no messages"), nil
	}
	if plan, waits, err := a.waits(ctx, s); waits || err != nil {
		return plan, err
	}
	return a.queue(ctx, s, w)
}

// readsQueue reports whether a process with these arguments takes queued messages: the server that
// terminals share does, and a terminal that is its own server.
func readsQueue(argv []string) bool {
	if slices.Contains(argv, "mcp-server") {
		return false
	}
	shared := func(arg string) bool { return arg == "--managed-daemon" || strings.HasPrefix(arg, "unix:") }
	return len(argv) > 0 && (!slices.Contains(argv, serverCommand) || slices.ContainsFunc(argv, shared))
}

// queue returns the command that queues a message for the session's owner.
func (a *Agent) queue(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	had, _, err := rollout.LastTurn(ctx, s.Transcript)
	if err != nil {
		return agent.Plan{}, err
	}
	args := []string{"queue", "--thread", s.Key.ID}
	plan := a.Run(s, cmp.Or(had.Cwd, s.Cwd), leash.Carried{}, leash.WithValue(args, "--message", "--message", w.Prompt)...)
	if plan.Run != nil {
		plan.Run.Unverifiable = true
	}
	return plan, nil
}
