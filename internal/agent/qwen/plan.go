package qwen

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
// session in its directory. The mode of approval is not recorded, so none is
// given: the run has what the user's settings say, and never more.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	if err := ctx.Err(); err != nil {
		return agent.Plan{}, err
	}
	if !uuid.MatchString(s.Key.ID) {
		return agent.Parked("the session id %q is none of %s", s.Key.ID, Name), nil
	}
	last, model, err := a.endOf(s, w)
	if errors.Is(err, fs.ErrNotExist) {
		return agent.Parked("the transcript is gone"), nil
	}
	if err != nil {
		return agent.Plan{}, err
	}
	if why := agent.StandsBack(s, last, time.Now()); why != "" {
		return agent.Plan{Leave: &agent.Leave{Why: why}}, nil
	}
	if err := agent.CheckDir(s.Cwd); err != nil {
		return agent.Parked("%v", err), nil
	}
	program, err := a.program(s)
	if err != nil {
		return agent.Parked("qwen was not found: set command in [[agent]]"), nil
	}
	return agent.Plan{Run: &agent.Command{
		Argv: arguments(program, s.Key.ID, model, w.Prompt),
		Dir:  s.Cwd,
		Env:  a.environment(program, s.Transcript),
	}}, nil
}

var modelName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:@/-]*$`)

func arguments(program agent.Program, id, model, prompt string) []string {
	argv := append(program.Argv(), "--resume", id)
	if modelName.MatchString(model) {
		argv = append(argv, "--model", model)
	}
	if strings.HasPrefix(prompt, "-") {
		return append(argv, "--prompt="+prompt)
	}
	return append(argv, "-p", prompt)
}

// maxEndLines bounds how far back a chat is looked through.
const maxEndLines = 20_000

// endOf returns the last that happened to the session, beside prompts of our
// own, and the model it was asked of.
func (a *Agent) endOf(s resume.Session, w agent.Words) (last resume.Event, model string, err error) {
	visited := 0
	err = agent.LinesBack(s.Transcript, func(line agent.Line) bool {
		visited++
		r, ok := parse(line.Data)
		if line.Cut || !ok || r.IsSidechain {
			return visited < maxEndLines
		}
		event, happened := a.event(r, line)
		prompted, isPrompt := event.(resume.Prompted)
		ours := isPrompt && (agent.SentByUs(s, prompted.At) || strings.TrimSpace(r.text()) == strings.TrimSpace(w.Prompt))
		if happened && last == nil && !ours {
			last = event
		}
		if failure, failed := r.failed(); failed && model == "" {
			model = failure.Model
		}
		if r.Type == "assistant" && model == "" {
			model = r.Model
		}
		return visited < maxEndLines && (last == nil || model == "")
	})
	return last, model, err
}

// environment returns what a run of that transcript's session is given.
func (a *Agent) environment(program agent.Program, transcript string) []string {
	env := program.Environment(a.env)
	for _, root := range a.roots {
		if root != a.usual && strings.HasPrefix(transcript, root+string(filepath.Separator)) {
			return append(env, homeVariable+"="+root)
		}
	}
	return env
}

// program finds qwen: as configured, as the session was run with, in PATH, or
// where it is usually put.
func (a *Agent) program(s resume.Session) (agent.Program, error) {
	return agent.Search{Name: "qwen", Command: a.command, Places: agent.UsualPlaces(a.userDir)}.Find(s.Program)
}
