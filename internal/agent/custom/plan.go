package custom

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// safeID is an id that no program can mistake for an option or a path.
var safeID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:-]*$`)

// Plan returns how the session is continued now: by the user's command, with its placeholders replaced and
// without a shell.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	if !safeID.MatchString(s.Key.ID) {
		return agent.Parked("the session id %q may hold letters, digits and . _ : - only, and begins with a letter or digit", s.Key.ID), nil
	}
	last, err := a.lastOf(ctx, s)
	// It cannot be determined whether this is the same limit: lines may have no time of their own.
	_, stopped := last.(resume.Limited)
	if plan, still, err := agent.StillStoppedBy(s, last, err); !still && (err != nil || !stopped) {
		return plan, err
	}
	cwd := s.Cwd
	if cwd == "" && a.is.About != "" {
		return agent.Parked("no file at %s says where the session works", strings.ReplaceAll(a.is.About, "{session}", s.Key.ID)), nil
	}
	if cwd == "" {
		cwd = filepath.Dir(s.Transcript) // its directory is not known
	}
	plan := a.run("resume", a.is.Resume, s, w.Prompt, cwd)
	if plan.Run != nil {
		plan.Run.Inside = a.leadsIn(s)
	}
	return plan, nil
}

// run returns the plan to run a command of the user, with its placeholders replaced once: inserted values
// are not expanded again. key is the name of the command in the configuration.
func (a *Agent) run(key string, command []string, s resume.Session, prompt, cwd string) agent.Plan {
	if leave := agent.CheckDir(s, cwd); leave != nil {
		return agent.Plan{Leave: leave}
	}
	found, err := program.Search{Command: command[0]}.Find(resume.Program{})
	if err != nil {
		return agent.Parked("%s was not found: give its full path in %s of [[agent]]", command[0], key)
	}
	values := strings.NewReplacer("{session}", s.Key.ID, "{prompt}", prompt, "{cwd}", cwd)
	argv := []string{found.Path}
	for _, arg := range command[1:] {
		argv = append(argv, values.Replace(arg))
	}
	return agent.Plan{Run: &agent.Command{Argv: argv, Dir: cwd, Env: found.Environment(a.Env), Fixed: true}}
}

// leadsIn reports whether the user's command enters the container or sandbox of the session: it begins with
// another program than the one that was seen there.
func (a *Agent) leadsIn(s resume.Session) bool {
	o := s.StartedWith()
	return o != nil && !slices.Contains(o.Args, filepath.Base(a.is.Resume[0]))
}

// lastOf returns the last event of the session in its file, or nil: a file may contain several sessions.
func (a *Agent) lastOf(ctx context.Context, s resume.Session) (last resume.Event, err error) {
	err = agent.Back(ctx, a, agent.SourceOf(a, s.Transcript), s.Transcript, func(e agent.Evidence) bool {
		if e.Key == s.Key {
			last = e.Event
		}
		return last == nil && ctx.Err() == nil
	})
	return last, errors.Join(err, ctx.Err())
}

// Starts reports whether the user configured a start command.
func (a *Agent) Starts() bool { return len(a.is.Start) > 0 }

// Home returns the account in which tasks begin.
func (a *Agent) Home() string { return a.Name() + ":default" }

// Start returns the command that begins the session of a task, with the task's id.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	command := a.is.Start
	switch {
	case !a.Starts():
		return agent.CannotStart(a), nil
	case task.Task.Model != "":
		return agent.Parked("%s takes no model: its start says what it is run with", a.Name()), nil
	case task.Task.Mode != "":
		return agent.Parked("%s takes no permission mode: its start says what it is run with", a.Name()), nil
	}
	plan := a.run("start", command, task, task.Task.Prompt, task.Cwd)
	if plan.Run != nil {
		plan.Run.Begins = []string{filepath.Base(command[0])}
	}
	return plan, nil
}
