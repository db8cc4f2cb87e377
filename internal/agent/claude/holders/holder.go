package holders

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/resume"
)

// Holder is a live process that has registered which session it holds.
type Holder struct {
	entry        // as it was at the time of the search
	Home  string // whose registry has its entry
}

// registers is how long a process may take to register its session. Versions before 2.1 never
// do.
const registers = time.Minute

// Holder returns the registry entry of the session's owner, or why the owner cannot be reached.
func (h *Holders) Holder(s resume.Session, owner resume.Owner) (holder Holder, untold *agent.Leave, err error) {
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
		return Holder{}, &agent.Leave{Why: fmt.Sprintf("%d live processes hold the session", holders), Park: true}, nil
	case holder.PID == 0:
		age, known := h.of.Processes.Age(owner.PID)
		return Holder{}, &agent.Leave{
			Why:  fmt.Sprintf("process %d lives in the session's directory and does not say which session it holds", owner.PID),
			Park: !known || age > registers,
		}, nil
	default:
		return holder, nil, nil
	}
}

// Doing returns the current status of a holder, as it registered it; "gone": it no longer holds
// the session.
func (h *Holders) Doing(of Holder) string {
	now, ok := h.entry(of.file)
	if !ok || now.SessionID != of.SessionID {
		return "gone"
	}
	return now.Status
}

// Asks returns the owner of a session whose turn is not over, and what it asks for.
func (h *Holders) Asks(ctx context.Context, s resume.Session) (working *resume.Owner, what string, err error) {
	owner, err := h.Owner(ctx, s)
	if err != nil || owner == nil || owner.Kind == resume.Headless {
		return nil, "", err
	}
	holder, untold, err := h.Holder(s, *owner)
	switch {
	case err != nil || untold != nil || holder.Status == "idle":
		return nil, "", err
	case holder.Status == "waiting" && holder.entry.WaitingFor == "permission prompt":
		what = "permission: " + transcript.OpenCall(ctx, s.Transcript).String()
	case holder.Status == "waiting" && holder.entry.WaitingFor == "input needed":
		what = "an answer to its question"
	}
	return owner, what, nil
}

// Left reports whether the process that held the session lives, and holds an empty session since
// /clear.
func (h *Holders) Left(ctx context.Context, s resume.Session) bool {
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
