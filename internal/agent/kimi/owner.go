package kimi

import (
	"context"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Owner returns the live process that may hold the session. Kimi Code takes no lock and
// keeps no file open: who lives in the session's directory may hold any session of it.
// It gives itself a title as soon as it runs, and its arguments are lost: a run of ours
// for another session of the directory cannot be told from one for this session, and is
// waited for.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	running, err := a.Processes.Running(ctx, isProgram)
	if err != nil || len(running) == 0 {
		return nil, err
	}
	place := process.PlaceOf(s.Cwd)
	running = slices.DeleteFunc(running, func(p process.Live) bool {
		return a.bystands(p, s) || !p.LivesIn(place) && !p.Names(s.Key.ID)
	})
	return process.OneOf(running, s, a.kind), nil
}

// bystands reports whether a process holds nothing of the session for certain.
func (a *Agent) bystands(p process.Live, s resume.Session) bool {
	if a.titled(p) {
		return p.Mark != "" && s.Run != nil && p.Mark == s.Run.Mark
	}
	return p.Bystands(s, a.kind(p))
}

// titled reports whether a process has given itself a title, by which its arguments
// are lost.
func (a *Agent) titled(p process.Live) bool {
	_, told := a.Processes.Arguments(p.PID, isProgram)
	return !told
}

// kind says whether a person sits before the process: by its arguments, or where those
// are lost by whether it has a terminal.
func (a *Agent) kind(p process.Live) string {
	if stat, err := a.Processes.Stat(p.PID); a.titled(p) && err == nil && stat.TTY == 0 {
		return resume.Headless
	}
	return p.Kind(agent.PromptOptions...)
}
