package codex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Plan says how the session is continued now: by a headless run of the same
// session, in the directory of its last turn, with the settings that turn had.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	if plan, stands, err := a.stands(s); !stands {
		return plan, err
	}
	owner, err := a.Owner(ctx, s)
	if err != nil {
		return agent.Plan{}, err
	}
	if owner != nil {
		return leave(occupied(owner)), nil
	}
	waits, err := a.Queued(ctx, s)
	if err != nil {
		return agent.Plan{}, err
	}
	if waits {
		return park(alreadyQueued), nil
	}
	return a.run(s, w)
}

// stands reports whether the session stands where it stopped, or returns what
// is to be done otherwise.
func (a *Agent) stands(s resume.Session) (otherwise agent.Plan, stands bool, err error) {
	if !uuid.MatchString(s.Key.ID) {
		return park(fmt.Sprintf("the session id %q is none of %s", s.Key.ID, Name)), false, nil
	}
	last, found, err := agent.LastOf(a, s)
	if errors.Is(err, fs.ErrNotExist) {
		return park("the transcript is gone"), false, nil
	}
	if err != nil {
		return agent.Plan{}, false, err
	}
	if why := standsBack(s, last, found); why != "" {
		return leave(why), false, nil
	}
	return agent.Plan{}, true, nil
}

func park(why string) agent.Plan { return agent.Plan{Leave: &agent.Leave{Why: why, Park: true}} }

func leave(why string) agent.Plan { return agent.Plan{Leave: &agent.Leave{Why: why}} }

// standsBack returns why the session is not continued by what its transcript
// says last, or nothing where it stands where it stopped.
func standsBack(s resume.Session, last agent.Evidence, found bool) string {
	if !found {
		return "the transcript does not say any more that the session stopped"
	}
	if last.Key != s.Key {
		return fmt.Sprintf("the transcript is of session %s", last.Key.ID)
	}
	return agent.StandsBack(s, last.Event, time.Now())
}

// run returns the command that continues the session.
func (a *Agent) run(s resume.Session, w agent.Words) (agent.Plan, error) {
	had, _, _, err := turnBefore(s.Transcript, math.MaxInt64, 0)
	if err != nil {
		return agent.Plan{}, err
	}
	cwd := cmp.Or(had.Cwd, s.Cwd)
	if err := agent.CheckDir(cwd); err != nil {
		return park(err.Error()), nil
	}
	if why := had.refuses(); why != "" {
		return park(why), nil
	}
	program, err := a.program(s)
	if err != nil {
		return park("codex was not found: set command in [[agent]]"), nil
	}

	h, _ := a.headOf(s.Transcript)
	argv := append(program.Argv(), "exec", "-C", cwd)
	argv = append(argv, had.flags(h.Provider)...)
	if !inRepository(cwd) {
		// Codex would not begin there unless told to, and the session did.
		argv = append(argv, "--skip-git-repo-check")
	}
	argv = append(argv, "resume", s.Key.ID)
	if strings.HasPrefix(w.Prompt, "-") {
		argv = append(argv, "--")
	}
	return agent.Plan{Run: &agent.Command{
		Argv: append(argv, w.Prompt), Dir: cwd, Env: a.environment(program, s.Transcript),
	}}, nil
}

// inRepository reports whether the directory lies in a work tree of git.
func inRepository(dir string) bool {
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

// environment returns what a run of that rollout's session is given.
func (a *Agent) environment(program agent.Program, rollout string) []string {
	env := program.Environment(nil)
	if root := a.homeOf(rollout).root; root != a.usual {
		env = append(env, homeVariable+"="+root)
	}
	return env
}

// program finds codex: as configured, as the session was run with, in PATH, or
// where it is usually put.
func (a *Agent) program(s resume.Session) (agent.Program, error) {
	return agent.Search{Name: "codex", Command: a.command, Places: agent.UsualPlaces(a.userDir)}.Find(s.Program)
}
