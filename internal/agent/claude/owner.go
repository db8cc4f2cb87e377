package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Owner returns the live process that holds the session. Claude Code takes no
// lock: a second process on one session forks the conversation.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	registered := make(map[int]bool) // live processes of which the session is known
	for _, root := range a.Homes.Roots {
		entries, err := a.living(filepath.Join(root, "sessions"))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			switch mine := e.SessionID == s.Key.ID; {
			case e.elsewhere != "":
				if mine && !e.changed().Before(s.PromptedAt.Add(-slack)) {
					return nil, fmt.Errorf("a Claude Code on another machine or in a container (%s) registered it, and whether that lives: %w", e.elsewhere, agent.ErrUnseen)
				}
				continue
			case mine && !a.Processes.IsRun(e.PID, s):
				return a.ownerBy(e), nil
			}
			registered[e.PID] = true
		}
	}
	return a.lodger(ctx, s, registered)
}

// lodger returns a process of Claude Code that lives in the session's
// directory and is in no registry, as versions before 2.1 are. Which session it
// holds cannot be known, so it may be this one.
func (a *Agent) lodger(ctx context.Context, s resume.Session, registered map[int]bool) (found *resume.Owner, err error) {
	if s.Cwd == "" {
		return nil, nil
	}
	all, err := a.Processes.List(ctx)
	if err != nil && writerRegisters(ctx, s.Transcript) {
		return nil, nil // who holds it would have said so
	}
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if registered[p.PID] || !isSession(p.Argv) || !a.lives(p.PID, "") {
			continue
		}
		place, err := a.Processes.Where(p.PID)
		if err != nil {
			return nil, err
		}
		if !agent.SameDir(place, s.Cwd) || a.Processes.Variable(p.PID, agent.MarkVariable) != "" {
			// One with a mark was started to resume some session; which one, it does not say.
			continue
		}
		if found != nil {
			found.Guessed = true
			break
		}
		found = &resume.Owner{PID: p.PID, Kind: kindOf(p.Argv), Tmux: a.Processes.Variable(p.PID, "TMUX_PANE")}
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
