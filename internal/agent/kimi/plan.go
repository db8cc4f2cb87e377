package kimi

import (
	"context"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// neverAsks is the mode in which everything runs without a question. Every run without
// a terminal is in this mode, whatever the session's own one is.
const neverAsks = "auto"

// Plan says how the session is continued now: by a run without a terminal of the same
// session in its directory. Such a run never asks: a session that asks is left to a
// person. The session keeps its model by itself.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	if err := ctx.Err(); err != nil {
		return agent.Plan{}, err
	}
	if !isID(s.Key.ID) {
		return agent.Parked("the session id %q is none of %s", s.Key.ID, Name), nil
	}
	last, mode, err := a.endOf(ctx, s, w)
	if plan, stands, err := agent.Standing(s, last, err); !stands {
		return plan, err
	}
	carried, seen := a.Carry(s, "-m", "--model")
	switch {
	case mode != neverAsks:
		return agent.Parked("it asks before it acts, and kimi -p never asks: go on in a terminal, where you can answer"), nil
	case a.Unseen == agent.Park && !seen:
		return agent.Parked("it never asks, and nobody saw what it was started with (resume.unseen)"), nil
	}
	args := slices.Concat([]string{"--session", s.Key.ID}, carried.Args)
	return a.Run(s, s.Cwd, carried, leash.WithValue(args, "-p", "--prompt", w.Prompt)...), nil
}

// endOf reads how the records of a session end, and in which mode it is; empty: the
// one that asks before everything, as every session begins.
func (a *Agent) endOf(ctx context.Context, s resume.Session, w agent.Words) (last resume.Event, mode string, err error) {
	last, err = agent.EndOf(ctx, s, w, func(line agent.Line) (resume.Event, string) {
		r, ok := parse(line.Data)
		if !ok {
			return nil, ""
		}
		if r.Type == moded && mode == "" {
			mode = r.Mode
		}
		event, _ := a.event(r, line)
		return event, r.said()
	}, func(last resume.Event) bool { return last == nil || mode == "" })
	return last, mode, err
}
