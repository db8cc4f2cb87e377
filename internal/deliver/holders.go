package deliver

import (
	"context"
	"errors"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/tmux"
)

const (
	// nextHolderLook lies between two looks whether the holders of stopped
	// sessions still live.
	nextHolderLook = 10 * time.Second

	// settles is how long after a refusal a process may take until it says whether
	// it goes on by itself.
	settles = 1500 * time.Millisecond
)

// holders are the sessions that were stopped and that a live process holds.
type holders struct {
	mu   sync.Mutex
	keys map[resume.Key]struct{} // guarded by mu
}

func newHolders(sessions []resume.Session) *holders {
	h := &holders{keys: make(map[resume.Key]struct{})}
	for _, s := range sessions {
		h.follow(s)
	}
	return h
}

// follow learns how a session stands. It blocks on nothing.
func (h *holders) follow(s resume.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.Owner != nil && s.Interrupted() && s.Run == nil {
		h.keys[s.Key] = struct{}{}
	} else {
		delete(h.keys, s.Key)
	}
}

func (h *holders) all() []resume.Key {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []resume.Key
	for key := range h.keys {
		all = append(all, key)
	}
	return all
}

// lookAfterHolders looks whether the holders of stopped sessions still live. A
// session whose holder is gone is continued as any other.
func (d *Deliverer) lookAfterHolders(ctx context.Context) {
	for _, key := range d.holders.all() {
		session, err := d.opts.Engine.Session(ctx, key)
		a := d.opts.Settings().Agent(key.Agent)
		if err != nil || a == nil || session.Owner == nil {
			continue
		}
		owner, err := a.Owner(ctx, session)
		switch {
		case err != nil: // who cannot be seen is not gone
		case owner == nil:
			d.apply(ctx, key, resume.Released{})
		default:
			d.reach(ctx, a, session, *owner)
		}
	}
}

// reach notes whether the process that holds a session that was stopped can be
// given a prompt, and reports whether that could be told. A person should know
// long before it is due that nothing will be typed.
func (d *Deliverer) reach(ctx context.Context, a agent.Agent, session resume.Session, owner resume.Owner) bool {
	if session.State != resume.Waiting || session.Run != nil || owner.Kind == "headless" {
		return true
	}
	if time.Since(session.LimitedAt) < settles {
		return false
	}
	settings := d.opts.Settings()
	why, told := d.unreached(ctx, a, session, owner, settings)
	if told && (session.Owner == nil || *session.Owner != owner || session.Unreached != why) {
		d.apply(ctx, session.Key, resume.Occupied{Owner: owner, Unreached: why, Tell: why != "" && settings.Live == Type})
	}
	return told
}

// unreached says why nothing can be given to the process, or "". It reports
// whether that can be told: one that works may yet say that it goes on by itself.
func (d *Deliverer) unreached(ctx context.Context, a agent.Agent, session resume.Session, owner resume.Owner, settings Settings) (why string, told bool) {
	plan, err := livePlan(ctx, a, session, owner, settings)
	switch {
	case err != nil:
		return "", false
	case plan.Leave != nil && !plan.Leave.Until.IsZero(): // it goes on by itself
		return "", true
	case plan.Leave != nil && plan.Leave.Tell:
		return plan.Leave.Why, true
	case plan.Leave != nil && (plan.Leave.Park || plan.Leave.Why == heldBy(owner)):
		return whatHelps + plan.Leave.Why, true
	case plan.Leave != nil:
		return "", false
	case plan.Type == nil:
		return "", true
	}
	_, err = d.machine.Pane(ctx, plan.Type.Process)
	if refusal, ok := errors.AsType[*tmux.Refusal](err); ok && !refusal.Passing {
		return noPane(owner, refusal), true
	}
	return "", true
}
