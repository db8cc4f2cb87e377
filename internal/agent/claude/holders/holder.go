package holders

import (
	"fmt"
	"time"

	"resumed/internal/agent"
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
