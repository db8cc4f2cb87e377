package gemini

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Plan says how the session is continued now: by a headless run of the same
// session in the root of its project. The mode of approval is not recorded, so
// none is given: the run has what the user's settings say, and never more.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	if !IsID(s.Key.ID) {
		return agent.Parked("the session id %q has characters that no id of %s has", s.Key.ID, Name), nil
	}
	ours := func(r record, p resume.Prompted) bool {
		return agent.SentByUs(s, p.At) || strings.TrimSpace(r.text()) == strings.TrimSpace(w.Prompt)
	}
	e, err := endOf(s.Transcript, a.reader, ours)
	if errors.Is(err, fs.ErrNotExist) {
		return agent.Parked("the transcript is gone: %s deletes chats that it cannot read; copies lie in the daemon's state directory", Name), nil
	}
	if err != nil {
		return agent.Plan{}, err
	}
	if why := agent.StandsBack(s, e.last, time.Now()); why != "" {
		return agent.Plan{Leave: &agent.Leave{Why: why}}, nil
	}
	head, _ := readHead(s.Transcript) // as it is now, not as it was
	if head.id != s.Key.ID {
		return agent.Parked("the transcript is not of session %s any more", s.Key.ID), nil
	}
	if err := agent.CheckDir(head.cwd); err != nil {
		return agent.Parked("%v", err), nil
	}
	if why, err := a.neighbour(ctx, head.cwd); err != nil || why != "" {
		return agent.Plan{Leave: &agent.Leave{Why: why}}, err
	}
	return a.run(s, e, w, head.cwd)
}

// neighbour returns why no other run may start in the directory now: the start
// of one may delete the chat of another that was resumed and still runs.
func (a *Agent) neighbour(ctx context.Context, dir string) (string, error) {
	running, err := a.processes.Running(ctx, isProgram)
	if err != nil {
		return "", err
	}
	for _, p := range running {
		if p.Mark != "" && p.LivesIn(dir) {
			return "another resumed session works in " + dir, nil
		}
	}
	return "", nil
}

var modelName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:@/-]*$`)

// run returns the command that continues the session.
func (a *Agent) run(s resume.Session, e end, w agent.Words, cwd string) (agent.Plan, error) {
	words := w.Prompt
	if e.prompt != nil && e.lost {
		text, ok := e.prompt.again()
		if !ok {
			return agent.Parked("%s took the last prompt back, and it cannot be given again on a command line", Name), nil
		}
		words = text
	}
	program, err := a.program(s)
	if err != nil {
		return agent.Parked("%s was not found: set command in [[agent]]", Name), nil
	}
	argv := append(program.Argv(), "--resume", s.Key.ID)
	if modelName.MatchString(e.model) {
		argv = append(argv, "--model", e.model)
	}
	if strings.HasPrefix(words, "-") {
		argv = append(argv, "--prompt="+words)
	} else {
		argv = append(argv, "-p", words)
	}
	return agent.Plan{Run: &agent.Command{
		Argv: argv,
		Dir:  cwd,
		Env:  a.environment(program, s.Transcript),
		Keep: []string{s.Transcript},
	}}, nil
}

// environment returns what a run of that transcript's session is given.
func (a *Agent) environment(program agent.Program, transcript string) []string {
	env := program.Environment(a.env)
	if root := a.homes.Of(transcript); root != a.homes.Usual {
		env = append(env, homeVariable+"="+filepath.Dir(root))
	}
	return env
}

// program finds gemini: as configured, as the session was run with, in PATH, or
// where it is usually put.
func (a *Agent) program(s resume.Session) (agent.Program, error) {
	return agent.Search{Name: "gemini", Command: a.command, Places: agent.UsualPlaces(a.userDir)}.Find(s.Program)
}
