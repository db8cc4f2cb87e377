package gemini

import (
	"context"
	"errors"
	"io/fs"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Plan says how the session is continued now: by a headless run of the same
// session in the root of its project, with the flags that it was started with. The
// mode of approval is in no chat: where nobody saw how it was started, the run has
// what the user's settings say, and never more.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	if !IsID(s.Key.ID) {
		return agent.Parked("the session id %q has characters that no id of %s has", s.Key.ID, Name), nil
	}
	ours := func(r record, e resume.Event) bool { return agent.SentNow(s, e, r.text(), w) }
	e, err := endOf(ctx, s.Transcript, a.Limits, ours)
	if errors.Is(err, fs.ErrNotExist) {
		return agent.Parked("the transcript is gone: %s deletes chats that it cannot read; copies lie in the daemon's state directory", Name), nil
	}
	if plan, stands, err := agent.StillStoppedBy(s, e.last, err); !stands {
		return plan, err
	}
	head, _ := readHead(agent.Line{Path: s.Transcript}) // as it is now, not as it was
	if head.id != s.Key.ID {
		return agent.Parked("the transcript is not of session %s any more", s.Key.ID), nil
	}
	if err := agent.CheckDir(head.cwd); err != nil {
		return agent.Parked("%v", err), nil
	}
	if why, err := a.neighbour(ctx, head.cwd); err != nil || why != "" {
		return agent.Left(why), err
	}
	return a.run(s, e, w, head.cwd), nil
}

// neighbour returns why no other run may start in the directory now: the start
// of one may delete the chat of another that was resumed and still runs.
func (a *Agent) neighbour(ctx context.Context, dir string) (string, error) {
	running, err := a.Processes.Running(ctx, isProgram)
	if err != nil {
		return "", err
	}
	place := process.PlaceOf(dir)
	for _, p := range running {
		if p.Mark != "" && p.LivesIn(place) {
			return "another resumed session works in " + dir, nil
		}
	}
	return "", nil
}

// run returns the command that continues the session.
func (a *Agent) run(s resume.Session, e end, w agent.Words, cwd string) agent.Plan {
	words := w.Prompt
	if e.prompt != nil && e.lost {
		text, ok := e.prompt.again()
		if !ok {
			return agent.Parked("%s took the last prompt back, and it cannot be given again on a command line", Name)
		}
		words = text
	}
	args := leash.WithModel([]string{"--resume", s.Key.ID}, e.model)
	var newer []string
	if len(args) > 2 {
		newer = []string{"-m", "--model"}
	}
	carried, _ := a.Carry(s, newer...)
	args = append(args, carried.Args...)
	plan := a.Run(s, cwd, carried, agent.WithPrompt(args, words)...)
	if plan.Run == nil {
		return plan
	}
	plan.Run.Keep = []string{s.Transcript}
	if byGoogle(a.Homes.Of(s.Transcript)) {
		plan.Run.Spare = leash.Variables{{Names: signedIn}}.Has
	}
	return plan
}
