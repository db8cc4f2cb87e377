package holders

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Owner returns the live process that holds the session. Claude Code takes no
// lock: a second process on one session forks the conversation.
func (h *Holders) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	ctx = process.Together(ctx)
	for _, root := range h.of.Homes.Roots {
		seen := h.listed(ctx, root)
		if seen.err != nil {
			return nil, seen.err
		}
		for _, e := range seen.by[s.Key.ID] {
			switch {
			case e.elsewhere && e.fresh(s.PromptedAt):
				return nil, &heldElsewhere{e}
			case !e.elsewhere && !h.of.Processes.IsRun(e.PID, s):
				return h.ownerBy(e), nil
			}
		}
	}
	return h.lodger(ctx, s)
}

// heldElsewhere says that a process which cannot be seen from here may hold a session.
type heldElsewhere struct{ entry entry }

func (e *heldElsewhere) Error() string {
	where := "in a container of this machine"
	if d, _ := domainOf(e.entry.Domain); d.machine != thisMachine() {
		where = fmt.Sprintf("on another machine (its /etc/machine-id begins with %.8s)", d.machine)
	}
	return fmt.Sprintf("process %d of a Claude Code %s has registered it: end it there, and it is continued; if that process is gone for good, remove %s",
		e.entry.number, where, filepath.Join(e.entry.dir, strconv.Itoa(e.entry.number)+".json"))
}

// Is reports that nobody can know: a person is told.
func (e *heldElsewhere) Is(target error) bool { return target == agent.ErrUnseen }

// NoProcess reports whether no registry names a live process, and none lives besides.
func (h *Holders) NoProcess(ctx context.Context) bool {
	ctx = process.Together(ctx)
	for _, root := range h.of.Homes.Roots {
		if seen := h.listed(ctx, root); seen.err != nil || len(seen.entries) > 0 {
			return false
		}
	}
	all := h.lodgers(ctx)
	return all.err == nil && len(all.processes) == 0
}

// listed returns what the registry of a home tells, read once for all sessions that are
// asked for together.
func (h *Holders) listed(ctx context.Context, root string) listing {
	return process.Once(ctx, h.of.Processes, registryOf(root), func() listing {
		entries, err := h.living(registryOf(root))
		by := make(map[string][]entry, len(entries))
		for _, e := range entries {
			by[e.SessionID] = append(by[e.SessionID], e)
		}
		return listing{entries, by, err}
	})
}

// lodgersOf is the key of the lodgers of an agent's homes.
type lodgersOf struct{ *Holders }

// lodgers are the live processes of which it is not known what they hold.
type lodgers struct {
	processes []process.Live
	err       error
}

// lodgers returns the processes of Claude Code that are in no registry, as versions before
// 2.1 are, and were not started to resume some session: which one, they do not say.
func (h *Holders) lodgers(ctx context.Context) lodgers {
	return process.Once(ctx, h.of.Processes, lodgersOf{h}, func() lodgers {
		running, err := h.of.Processes.Running(ctx, IsClaude)
		registered := make(map[int]bool)
		for _, root := range h.of.Homes.Roots {
			for _, e := range h.listed(ctx, root).entries {
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
func (h *Holders) lodger(ctx context.Context, s resume.Session) (found *resume.Owner, err error) {
	if s.Cwd == "" {
		return nil, nil
	}
	all := h.lodgers(ctx)
	if all.err != nil && writerRegisters(ctx, s.Transcript) {
		return nil, nil // who holds it would have said so
	}
	if all.err != nil {
		return nil, all.err
	}
	for _, p := range all.processes {
		if !p.LivesIn(h.of.Processes.PlaceOf(ctx, s.Cwd)) {
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
