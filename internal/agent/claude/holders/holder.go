// Package holders finds the live process that holds a session of Claude Code: by the registry in
// its homes, else by working directory.
package holders

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/lines"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Holder is a live process that has registered which session it holds.
type Holder struct {
	entry        // as it was at the time of the search
	Home  string // whose registry has its entry
}

// registers is how long a process may take to register its session. Versions before 2.1 never do.
const registers = time.Minute

// Holder returns the registry entry of the session's owner, or why the owner cannot be reached.
func (h *Holders) Holder(s resume.Session, owner resume.Owner) (holder Holder, untold *agent.Skip, err error) {
	holders := 0
	for _, root := range h.of.Homes.Roots {
		entries, err := h.living(root)
		if err != nil {
			return Holder{}, nil, err
		}
		for _, e := range entries {
			if e.SessionID != s.Key.ID || h.of.Processes.IsRun(e.PID, s) {
				continue
			}
			holders++
			if e.PID == owner.PID {
				holder = Holder{e, root}
			}
		}
	}
	switch {
	case holders > 1:
		return Holder{}, &agent.Skip{Why: fmt.Sprintf("%d live processes hold the session", holders), Park: true}, nil
	case holder.PID == 0:
		age, known := h.of.Processes.Age(owner.PID)
		return Holder{}, &agent.Skip{
			Why:  fmt.Sprintf("process %d lives in the session's directory and does not say which session it holds", owner.PID),
			Park: !known || age > registers,
		}, nil
	default:
		return holder, nil, nil
	}
}

// Doing returns the current status of a holder; "gone": it no longer holds the session.
func (h *Holders) Doing(of Holder) string {
	now, ok := h.entry(of.file)
	if !ok || now.SessionID != of.SessionID {
		return "gone"
	}
	return now.Status
}

// PendingQuestion returns the owner of a session whose turn is not over, and what it asks for.
func (h *Holders) PendingQuestion(ctx context.Context, s resume.Session) (working *resume.Owner, what string, err error) {
	owner, err := h.Owner(ctx, s)
	if err != nil || owner == nil || owner.Kind == resume.Headless {
		return nil, "", err
	}
	holder, untold, err := h.Holder(s, *owner)
	switch {
	case err != nil || untold != nil || holder.Status == "idle":
		return nil, "", err
	case holder.Status == "waiting" && holder.entry.WaitingFor == "permission prompt":
		what = "permission: " + transcript.OpenCall(ctx, s).String()
	case holder.Status == "waiting" && holder.entry.WaitingFor == "input needed":
		what = "an answer to its question"
	}
	return owner, what, nil
}

// UserLeft reports whether the process that held the session holds an empty one since /clear.
func (h *Holders) UserLeft(ctx context.Context, s resume.Session) bool {
	for _, root := range h.of.Homes.Roots {
		for _, e := range h.listed(ctx, root).all {
			held := s.Owner != nil && s.Owner.PID == e.PID || s.Origin != nil && s.Origin.Process.PID == e.PID
			since := time.UnixMilli(e.StartedAt)
			path := filepath.Join(filepath.Dir(s.Transcript), e.SessionID+".jsonl")
			if held && !e.elsewhere && e.SessionID != s.Key.ID && since.Before(s.LimitedAt) && transcript.Cleared(ctx, path) {
				return true
			}
		}
	}
	return false
}

// Owner returns the process: without a lock, a second one would fork the conversation. Of several it is not known which
// one took the last prompt.
func (h *Holders) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	ctx = process.WithSnapshot(ctx)
	var owner *resume.Owner
	for _, root := range h.of.Homes.Roots {
		seen := h.listed(ctx, root)
		if seen.err != nil {
			return nil, seen.err
		}
		for _, e := range seen.all {
			switch {
			case e.SessionID != s.Key.ID:
			case e.elsewhere && owner == nil && e.fresh(s.PromptedAt) && !e.beforeRestart(s):
				return nil, &heldElsewhere{e}
			case e.elsewhere || h.of.Processes.IsRun(e.PID, s):
			case owner == nil:
				owner = h.ownerBy(e)
			default:
				owner.Guessed = true
			}
		}
	}
	if owner != nil {
		return owner, nil
	}
	return h.neighbour(ctx, s)
}

type heldElsewhere struct{ entry entry }

func (e *heldElsewhere) Error() string {
	where := "in a container of this machine"
	if machine, _, _ := e.entry.domain(); machine != thisMachine() {
		where = fmt.Sprintf("on another machine (its /etc/machine-id begins with %.8s)", machine)
	}
	return fmt.Sprintf("process %d of a Claude Code %s has registered it: end it there, and it is continued; if that process is gone for good, remove %s",
		e.entry.number, where, e.entry.file)
}

// Is makes the error an ErrUnseen, which is reported to a person.
func (e *heldElsewhere) Is(target error) bool { return target == agent.ErrUnseen }

// NoProcess reports whether no registry names a live process, and no unregistered one is alive.
func (h *Holders) NoProcess(ctx context.Context) bool {
	ctx = process.WithSnapshot(ctx)
	for _, root := range h.of.Homes.Roots {
		if seen := h.listed(ctx, root); seen.err != nil || len(seen.all) > 0 {
			return false
		}
	}
	all := h.unregistered(ctx)
	return all.err == nil && len(all.all) == 0
}

type found[V any] struct {
	all []V
	err error
}

// The keys of what is read once per snapshot: a registry, by its home, and unregistered processes.
type (
	registryOf     string
	unregisteredOf struct{ *Holders }
)

func (h *Holders) listed(ctx context.Context, root string) found[entry] {
	return process.Once(ctx, h.of.Processes, registryOf(root), func() found[entry] {
		all, err := h.living(root)
		return found[entry]{all, err}
	})
}

// unregistered returns the processes of Claude Code in no registry, such as versions before 2.1:
// their session is not known. Processes started by a resume are excluded.
func (h *Holders) unregistered(ctx context.Context) found[process.Live] {
	return process.Once(ctx, h.of.Processes, unregisteredOf{h}, func() found[process.Live] {
		running, err := h.of.Processes.Running(ctx, IsClaude)
		registered := make(map[int]bool)
		for _, root := range h.of.Homes.Roots {
			for _, e := range h.listed(ctx, root).all {
				registered[e.PID] = registered[e.PID] || !e.elsewhere
			}
		}
		return found[process.Live]{slices.DeleteFunc(running, func(p process.Live) bool {
			serves := len(p.Args) > 0 && (p.Args[0] == "daemon" || p.Args[0] == "mcp") // a server holds no session
			return registered[p.PID] || serves || p.Mark != ""
		}), err}
	})
}

// neighbour returns a process in the session's directory: it may hold this session. It is a guess if the session is of a
// version whose processes are in the registry: anything may be called claude.
func (h *Holders) neighbour(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	if s.Cwd == "" {
		return nil, nil
	}
	unregistered := h.unregistered(ctx)
	if unregistered.err != nil && writerRegisters(ctx, s.Transcript) {
		return nil, nil // an owner would be in the registry
	}
	if unregistered.err != nil {
		return nil, unregistered.err
	}
	place := h.of.Processes.PlaceOf(ctx, s.Cwd)
	near := slices.DeleteFunc(slices.Clone(unregistered.all), func(p process.Live) bool { return !p.LivesIn(place) })
	owner := process.OneOf(near, s, func(p process.Live) string { return p.Kind("-p", "--print") })
	if owner != nil && !owner.Guessed {
		owner.Guessed = writerRegisters(ctx, s.Transcript)
	}
	return owner, nil
}

// writerRegisters: versions since 2.1 register their sessions.
func writerRegisters(ctx context.Context, transcript string) bool {
	var major, minor int
	err := lines.Back(ctx, transcript, func(line lines.Line) bool {
		var r struct {
			Version string `json:"version"`
		}
		_ = json.Unmarshal(line.Data, &r) // a line that is not a record has no version
		n, _ := fmt.Sscanf(r.Version, "%d.%d.", &major, &minor)
		return n < 2
	})
	return err == nil && (major > 2 || major == 2 && minor >= 1)
}

// Holders finds the processes that hold the sessions of an agent's homes.
type Holders struct{ of *agent.Transcripts }

// New returns the Holders of an agent, whose homes and processes may be set later.
func New(of *agent.Transcripts) Holders { return Holders{of} }

// lives reports whether the process that began at start is alive; with an empty start, any
// process with that pid. The registry has start times as in /proc: without /proc, a process is
// identified by its pid and program.
func (h *Holders) lives(pid int, start string) bool {
	if !h.of.Processes.HasProc() {
		argv := h.of.Processes.Argv(pid)
		return process.Exists(pid) && (len(argv) == 0 || process.Runs(argv, IsClaude))
	}
	stat, err := h.of.Processes.Stat(pid)
	return err == nil && stat.Living() && (start == "" || start == strconv.FormatUint(stat.Start, 10))
}

// IsClaude recognises the program. Old versions are node processes with the title "claude".
func IsClaude(program string) bool {
	switch filepath.Base(strings.TrimSpace(program)) {
	case "claude", "claude.exe":
		return true
	case "cli.js":
		return strings.Contains(program, "claude-code")
	}
	return false
}
