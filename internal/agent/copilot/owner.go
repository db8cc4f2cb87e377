package copilot

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Owner returns the live process that holds the session. A process notes the sessions that
// it holds: inuse.PID.lock in their directories, which one that was killed leaves behind. One
// that notes none is only just starting, and may take any session of its directory.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	running, err := a.Processes.Running(process.Together(ctx), isProgram)
	if err != nil || len(running) == 0 {
		return nil, err
	}
	holders := holdersIn(filepath.Dir(s.Transcript))
	at := slices.IndexFunc(running, func(p process.Live) bool {
		return holders[p.PID] && !p.Bystands(s, p.Kind(agent.PromptOptions...))
	})
	if at >= 0 {
		p := running[at]
		return &resume.Owner{PID: p.PID, Kind: p.Kind(agent.PromptOptions...), Tmux: p.Pane}, nil
	}
	busy := holdersIn(filepath.Join(filepath.Dir(filepath.Dir(s.Transcript)), "*"))
	place := process.PlaceOf(s.Cwd)
	free := slices.DeleteFunc(slices.Clone(running), func(p process.Live) bool {
		return a.holdsOther(p, running, busy) || p.Bystands(s, p.Kind(agent.PromptOptions...)) || !p.LivesIn(place) && !p.Names(s.Key.ID)
	})
	return process.OneOf(free, s, func(p process.Live) string { return p.Kind(agent.PromptOptions...) }), nil
}

// holdsOther reports whether a process has noted that it holds another session, or is the
// script that started one which has.
func (a *Agent) holdsOther(p process.Live, running []process.Live, busy map[int]bool) bool {
	return busy[p.PID] || slices.ContainsFunc(running, func(child process.Live) bool {
		return busy[child.PID] && child.PID != p.PID && len(a.Processes.Eldest([]int{p.PID, child.PID})) == 1 && slices.Equal(p.Args, child.Args)
	})
}

// holdersIn returns the processes that have noted that they hold a session of directories.
func holdersIn(pattern string) map[int]bool {
	notes, _ := filepath.Glob(filepath.Join(pattern, "inuse.*.lock")) // errs on a bad pattern only
	pids := make(map[int]bool)
	for _, note := range notes {
		number := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(note), "inuse."), ".lock")
		if pid, err := strconv.Atoi(number); err == nil {
			pids[pid] = true
		}
	}
	return pids
}
