package codex

import (
	"cmp"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"

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
		return agent.Left(occupied(owner)), nil
	}
	waits, err := a.Queued(ctx, s)
	if err != nil {
		return agent.Plan{}, err
	}
	if waits {
		return agent.Parked(alreadyQueued), nil
	}
	return a.run(s, w)
}

// stands reports whether the session stands where it stopped, or returns what
// is to be done otherwise.
func (a *Agent) stands(s resume.Session) (otherwise agent.Plan, stands bool, err error) {
	if !agent.IsUUID(s.Key.ID) {
		return agent.Parked("the session id %q is none of %s", s.Key.ID, Name), false, nil
	}
	_, otherwise, stands, err = agent.Stands(a, s)
	return otherwise, stands, err
}

// run returns the command that continues the session.
func (a *Agent) run(s resume.Session, w agent.Words) (agent.Plan, error) {
	had, _, _, err := turnBefore(s.Transcript, math.MaxInt64, 0)
	if err != nil {
		return agent.Plan{}, err
	}
	cwd := cmp.Or(had.Cwd, s.Cwd)
	if err := agent.CheckDir(cwd); err != nil {
		return agent.Parked("%v", err), nil
	}
	if why := had.refuses(); why != "" {
		return agent.Parked("%s", why), nil
	}
	program, err := a.Find(s)
	if err != nil {
		return a.Missing(), nil
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
		Argv: append(argv, w.Prompt), Dir: cwd, Env: a.Environment(program, s.Transcript),
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
