package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Owner returns the live process that holds the session. Claude Code takes no
// lock: a second process on one session forks the conversation.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	ctx = process.Together(ctx)
	known := make(map[int]bool) // live processes of which the session is known
	for _, root := range a.Homes.Roots {
		seen := process.Once(ctx, a.Processes, registryOf(root), func() listing {
			entries, err := a.living(registryOf(root))
			return listing{entries, err}
		})
		if seen.err != nil {
			return nil, seen.err
		}
		for _, e := range seen.entries {
			switch mine := e.SessionID == s.Key.ID; {
			case e.elsewhere:
				if mine && e.fresh(s.PromptedAt) {
					return nil, &heldElsewhere{e}
				}
				continue
			case mine && !a.Processes.IsRun(e.PID, s):
				return a.ownerBy(e), nil
			}
			known[e.PID] = true
		}
	}
	return a.lodger(ctx, s, known)
}

// lodger returns a process of Claude Code that lives in the session's
// directory and is in no registry, as versions before 2.1 are. Which session it
// holds cannot be known, so it may be this one.
func (a *Agent) lodger(ctx context.Context, s resume.Session, registered map[int]bool) (found *resume.Owner, err error) {
	if s.Cwd == "" {
		return nil, nil
	}
	running, err := a.Processes.Running(ctx, isClaude)
	if err != nil && writerRegisters(ctx, s.Transcript) {
		return nil, nil // who holds it would have said so
	}
	if err != nil {
		return nil, err
	}
	cwd := s.Cwd                                                                  // not the session, which is large and would be moved into the heap
	place := sync.OnceValue(func() process.Place { return process.PlaceOf(cwd) }) // nearly always all are registered
	for _, p := range running {
		if registered[p.PID] || serves(p.Args) || p.Mark != "" || !p.LivesIn(place()) {
			continue // one with a mark was started to resume some session; which one, it does not say
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
