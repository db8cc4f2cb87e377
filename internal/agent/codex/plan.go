package codex

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// Plan returns how the session is continued now: by a headless run of the same session, in the
// directory of its last turn, with the settings of that turn.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	readable, remove, err := rollout.Readable(s.Transcript)
	if err != nil {
		return agent.Plan{}, err
	}
	defer remove()
	read := s
	read.Transcript = readable
	if plan, still, err := a.stillStopped(ctx, read); !still {
		return plan, err
	}
	owner, err := a.Owner(ctx, s)
	if err != nil {
		return agent.Plan{}, err
	}
	if owner != nil {
		// Codex refuses a second writer, and in old versions the turns would interleave.
		return agent.Left(fmt.Sprintf("process %d (%s) holds the session", owner.PID, owner.Kind)), nil
	}
	if plan, waits, err := a.waits(ctx, s); waits {
		return plan, err
	}
	return a.run(ctx, s, readable, w)
}

// stillStopped reports whether the session is still stopped. If not, otherwise is the plan to follow.
func (a *Agent) stillStopped(ctx context.Context, s resume.Session) (otherwise agent.Plan, still bool, err error) {
	if !agent.IsUUID(s.Key.ID) {
		return agent.Parked("the session id %q is none of %s", s.Key.ID, Name), false, nil
	}
	_, otherwise, still, err = agent.StillStopped(ctx, a, s)
	return otherwise, still, err
}

// run returns the command that continues the session of a rollout.
func (a *Agent) run(ctx context.Context, s resume.Session, readable string, w agent.Words) (agent.Plan, error) {
	had, _, err := rollout.LastTurn(ctx, readable)
	if err != nil {
		return agent.Plan{}, err
	}
	cwd := cmp.Or(had.Cwd, s.Cwd)
	h, _ := a.reader.Head(readable)
	carried, seen := a.carry(s, h, had)
	var left []leash.Omission
	if seen {
		had, left = a.within(had, *s.StartedWith())
	}
	if why := refuses(had); why != "" {
		return agent.Parked("%s", why), nil
	}
	carried.LeftOut = append(carried.LeftOut, left...)
	// If a key is set twice the last one counts: that of the last turn.
	args := slices.Concat([]string{execCommand, "-C", cwd}, carried.Args, flagsOf(had, h.Provider))
	if !inRepository(cwd) {
		// Codex would refuse to begin there without this flag, and the session did begin.
		args = append(args, "--skip-git-repo-check")
	}
	plan := a.Run(s, cwd, carried, leash.WithPrompt(append(args, "resume", s.Key.ID), w.Prompt)...)
	if plan.Run != nil {
		if !seen && had.Sandbox.Name() == fullAccess {
			plan.Run.Unproven = "it runs without a sandbox, and what drove it may have restricted it"
		}
		plan.Run.Asks = had.Sandbox.Name() != fullAccess
		plan.Run.Spare = a.spare(s, h)
		if o := s.StartedWith(); h.Kind() == resume.Interactive && (o == nil || !byExec(o.Args)) {
			plan.Run.Unset = []string{execKey} // the terminal ignored it
		}
	}
	return plan, nil
}

// inRepository reports whether the directory is in a git work tree. Codex's own sandbox leaves empty
// .git directories behind, for example in /tmp.
func inRepository(dir string) bool {
	for {
		git := filepath.Join(dir, ".git")
		if info, err := os.Stat(git); err == nil && info.Mode().IsRegular() {
			return true
		}
		if _, err := os.Stat(filepath.Join(git, "HEAD")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

var _ agent.Teller = (*Agent)(nil)

// Start returns the command that begins the session of a task.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	return a.Open(task, agent.Opening{
		Args: []string{execCommand, "-C", task.Cwd}, Mode: "--sandbox", Modes: []string{"read-only", "workspace-write", "danger-full-access"},
		Say: func(args []string, prompt string) []string {
			if prompt == "-" {
				prompt += " " // alone it means the standard input
			}
			return append(args, "--", prompt) // it may be the name of a command, such as review
		},
	}), nil
}

// Begun returns the id that Codex prints before any output of the model.
func (a *Agent) Begun(printed string) string {
	if banner := bannerID.FindStringSubmatch(printed); banner != nil {
		return banner[1]
	}
	return ""
}
