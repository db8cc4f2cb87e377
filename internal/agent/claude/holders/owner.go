// Package holders finds the live process that holds a session of Claude Code: by what
// processes register in its homes, else by where they live.
package holders

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Owner returns the live process that holds the session. Claude Code takes no
// lock: a second process on one session forks the conversation.
func (h *Holders) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	ctx = process.WithSnapshot(ctx)
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
	return h.neighbour(ctx, s)
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

// Is reports that the owner cannot be known: it is reported to a person.
func (e *heldElsewhere) Is(target error) bool { return target == agent.ErrUnseen }

// NoProcess reports whether no registry names a live process, and none lives besides.
func (h *Holders) NoProcess(ctx context.Context) bool {
	ctx = process.WithSnapshot(ctx)
	for _, root := range h.of.Homes.Roots {
		if seen := h.listed(ctx, root); seen.err != nil || len(seen.entries) > 0 {
			return false
		}
	}
	all := h.unregistered(ctx)
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

// unregisteredOf is the key of the unregistered of an agent's homes.
type unregisteredOf struct{ *Holders }

// unregistered are the live processes of which it is not known what they hold.
type unregistered struct {
	processes []process.Live
	err       error
}

// unregistered returns the processes of Claude Code that are in no registry, as versions before
// 2.1 are, and were not started to resume some session: which one, they do not say.
func (h *Holders) unregistered(ctx context.Context) unregistered {
	return process.Once(ctx, h.of.Processes, unregisteredOf{h}, func() unregistered {
		running, err := h.of.Processes.Running(ctx, IsClaude)
		registered := make(map[int]bool)
		for _, root := range h.of.Homes.Roots {
			for _, e := range h.listed(ctx, root).entries {
				registered[e.PID] = registered[e.PID] || !e.elsewhere
			}
		}
		return unregistered{slices.DeleteFunc(running, func(p process.Live) bool {
			return registered[p.PID] || serves(p.Args) || p.Mark != ""
		}), err}
	})
}

// neighbour returns a process that lives in the session's directory. Which session it
// holds cannot be known, so it may be this one.
func (h *Holders) neighbour(ctx context.Context, s resume.Session) (found *resume.Owner, err error) {
	if s.Cwd == "" {
		return nil, nil
	}
	all := h.unregistered(ctx)
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

// Holders looks for the processes that hold the sessions of an agent's homes.
type Holders struct{ of *agent.Transcripts }

// New returns those of that agent, whose homes and processes may be set later.
func New(of *agent.Transcripts) Holders { return Holders{of} }

// lives reports whether the process that began at start is alive; an empty
// start is any process of that pid. Where there is no /proc, whose measure of time the
// registry has, a process is known by its pid and its program.
func (h *Holders) lives(pid int, start string) bool {
	if !h.of.Processes.Seen() {
		argv := h.of.Processes.Argv(pid)
		return process.Answers(pid) && (len(argv) == 0 || process.Runs(argv, IsClaude))
	}
	stat, err := h.of.Processes.Stat(pid)
	return err == nil && stat.Living() && (start == "" || start == strconv.FormatUint(stat.Start, 10))
}

// serves reports whether a process of these arguments works for others, and holds no
// session.
func serves(args []string) bool {
	return len(args) > 0 && (args[0] == "daemon" || args[0] == "mcp")
}

// IsClaude reports whether a path is that of Claude Code. Old versions are node under
// a title of their own: nothing but "claude".
func IsClaude(program string) bool {
	switch filepath.Base(strings.TrimSpace(program)) {
	case "claude", "claude.exe":
		return true
	case "cli.js":
		return strings.Contains(program, "claude-code")
	}
	return false
}

// kindOf says whether a person sits before a process of these arguments.
func kindOf(args []string) string {
	if slices.Contains(args, "-p") || slices.Contains(args, "--print") {
		return resume.Headless
	}
	return resume.Interactive
}
