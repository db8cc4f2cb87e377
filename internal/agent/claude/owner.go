package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Owner returns the live process that holds the session. Claude Code takes no
// lock: a second process on one session forks the conversation.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	ctx = process.Together(ctx)
	for _, root := range a.Homes.Roots {
		seen := a.listed(ctx, root)
		if seen.err != nil {
			return nil, seen.err
		}
		for _, e := range seen.by[s.Key.ID] {
			switch {
			case e.elsewhere && e.fresh(s.PromptedAt):
				return nil, &heldElsewhere{e}
			case !e.elsewhere && !a.Processes.IsRun(e.PID, s):
				return a.ownerBy(e), nil
			}
		}
	}
	return a.lodger(ctx, s)
}

// Nobody reports whether no registry names a live process, and none lives besides.
func (a *Agent) Nobody(ctx context.Context) bool {
	ctx = process.Together(ctx)
	for _, root := range a.Homes.Roots {
		if seen := a.listed(ctx, root); seen.err != nil || len(seen.entries) > 0 {
			return false
		}
	}
	all := a.lodgers(ctx)
	return all.err == nil && len(all.processes) == 0
}

// listed returns what the registry of a home tells, read once for all sessions that are
// asked for together.
func (a *Agent) listed(ctx context.Context, root string) listing {
	return process.Once(ctx, a.Processes, registryOf(root), func() listing {
		entries, err := a.living(registryOf(root))
		by := make(map[string][]entry, len(entries))
		for _, e := range entries {
			by[e.SessionID] = append(by[e.SessionID], e)
		}
		return listing{entries, by, err}
	})
}

// lodgersOf is the key of the lodgers of an agent's homes.
type lodgersOf struct{ *Agent }

// lodgers are the live processes of which it is not known what they hold.
type lodgers struct {
	processes []process.Live
	err       error
}

// lodgers returns the processes of Claude Code that are in no registry, as versions before
// 2.1 are, and were not started to resume some session: which one, they do not say.
func (a *Agent) lodgers(ctx context.Context) lodgers {
	return process.Once(ctx, a.Processes, lodgersOf{a}, func() lodgers {
		running, err := a.Processes.Running(ctx, isClaude)
		registered := make(map[int]bool)
		for _, root := range a.Homes.Roots {
			for _, e := range a.listed(ctx, root).entries {
				registered[e.PID] = registered[e.PID] || !e.elsewhere
			}
		}
		return lodgers{slices.DeleteFunc(running, func(p process.Live) bool {
			return registered[p.PID] || serves(p.Args) || p.Mark != ""
		}), err}
	})
}

// lodger returns a process that lives in the session's directory. Which session it
// holds cannot be known, so it may be this one.
func (a *Agent) lodger(ctx context.Context, s resume.Session) (found *resume.Owner, err error) {
	if s.Cwd == "" {
		return nil, nil
	}
	all := a.lodgers(ctx)
	if all.err != nil && writerRegisters(ctx, s.Transcript) {
		return nil, nil // who holds it would have said so
	}
	if all.err != nil {
		return nil, all.err
	}
	for _, p := range all.processes {
		if !p.LivesIn(a.Processes.PlaceOf(ctx, s.Cwd)) {
			continue
		}
		if found != nil {
			found.Guessed = true
			break
		}
		found = &resume.Owner{PID: p.PID, Kind: kindOf(p.Args), Tmux: p.Pane}
	}
	return found, nil
}

// writerRegisters reports whether a version that is in the registry while it lives was
// the last to write the transcript: 2.1 was the first.
func writerRegisters(ctx context.Context, transcript string) bool {
	var major, minor int
	err := agent.LinesBack(ctx, transcript, func(line agent.Line) bool {
		var r struct {
			Version string `json:"version"`
		}
		_ = json.Unmarshal(line.Data, &r) // what is no record names no version
		n, _ := fmt.Sscanf(r.Version, "%d.%d.", &major, &minor)
		return n < 2
	})
	return err == nil && (major > 2 || major == 2 && minor >= 1)
}
