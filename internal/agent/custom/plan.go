package custom

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
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
	if errors.Is(err, fs.ErrNotExist) {
		return agent.Parked("the transcript is gone"), nil
	}
	if err != nil {
		return agent.Plan{}, err
	}
	// It cannot be determined whether this is the same limit: lines may have no time of their own.
	_, stopped := last.(resume.Limited)
	if why := agent.WhyNotNow(s, last, time.Now()); why != "" && !stopped {
		return agent.Left(why), nil
	}
	cwd := s.Cwd
	if cwd == "" && a.about != "" {
		return agent.Parked("no file at %s says where the session works", strings.ReplaceAll(a.about, "{session}", s.Key.ID)), nil
	}
	if cwd == "" {
		cwd = filepath.Dir(s.Transcript) // its directory is not known
	}
	if leave := agent.CheckDir(s, cwd); leave != nil {
		return agent.Plan{Leave: leave}, nil
	}
	program, err := a.Program()
	if err != nil {
		return agent.Parked("%s was not found: give its full path in resume of [[agent]]", a.resume[0]), nil
	}
	return agent.Plan{Run: &agent.Command{
		Argv:   fill(program.Path, a.resume[1:], s.Key.ID, w.Prompt, cwd),
		Dir:    cwd,
		Env:    program.Environment(a.Env),
		Inside: a.leadsIn(s),
	}}, nil
}

// leadsIn reports whether the user's command enters the container or sandbox of the session: it begins with
// another program than the one that was seen there.
func (a *Agent) leadsIn(s resume.Session) bool {
	o := s.StartedWith()
	return o != nil && !slices.Contains(o.Args, filepath.Base(a.resume[0]))
}

// fill replaces the placeholders once: inserted values are not expanded again.
func fill(program string, args []string, id, prompt, cwd string) []string {
	values := strings.NewReplacer("{session}", id, "{prompt}", prompt, "{cwd}", cwd)
	argv := []string{program}
	for _, arg := range args {
		argv = append(argv, values.Replace(arg))
	}
	return argv
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
