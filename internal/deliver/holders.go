package deliver

import (
	"context"
	"errors"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/resume"
	"resumed/internal/terminal"
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
	wake chan struct{} // of size 1: there is one where there was none
	mu   sync.Mutex
	keys map[resume.Key]bool // guarded by mu; whether the process was seen alive since this daemon started
}

func newHolders(sessions []resume.Session) *holders {
	h := &holders{wake: make(chan struct{}, 1), keys: make(map[resume.Key]bool)}
	for _, s := range sessions {
		h.follow(s)
	}
	return h
}

// follow learns how a session stands. It blocks on nothing.
func (h *holders) follow(s resume.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, known := h.keys[s.Key]
	switch held := s.Owner != nil && s.Interrupted() && s.Run == nil; {
	case held && !known:
		h.put(s.Key, false)
	case !held:
		delete(h.keys, s.Key)
	}
}

// saw notes that the process lives. It may be the first that is heard of it: the step that
// follow is told of comes from another goroutine.
func (h *holders) saw(key resume.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.put(key, true)
}

// put notes a holder, with mu held.
func (h *holders) put(key resume.Key, seen bool) {
	h.keys[key] = seen
	if len(h.keys) > 1 {
		return // they are looked at already
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *holders) wasSeen(key resume.Key) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.keys[key]
}

// next returns when they are to be looked at; nil: there are none.
func (h *holders) next() <-chan time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.keys) == 0 {
		return nil
	}
	return time.After(nextHolderLook)
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
	ctx = process.Together(ctx)
	for _, key := range d.holders.all() {
		session, err := d.opts.Engine.Session(ctx, key)
		a := d.opts.Settings().Agent(key.Agent)
		if err != nil || a == nil {
			continue
		}
		if session.Owner == nil {
			d.holders.follow(session) // it was seen when it had just been let go
			continue
		}
		owner, err := a.Owner(ctx, session)
		switch {
		case err != nil: // who cannot be seen is not gone
		case owner == nil:
			d.apply(ctx, key, resume.Released{Closed: d.closed(a, session)})
		default:
			d.holders.saw(key)
			d.reach(ctx, a, session, *owner)
		}
	}
}

// closed reports whether a person has ended the process that held the session, as
// far as can be told: it ended before our eyes and was not killed. What ended while no
// daemon looked may have ended with the machine.
func (d *Deliverer) closed(a agent.Agent, session resume.Session) bool {
	owner := session.Owner
	return owner != nil && owner.Kind != resume.Headless && d.holders.wasSeen(session.Key) && !a.Killed(session, *owner)
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
		d.holders.saw(session.Key)
	}
	return told
}

// unreached says why nothing can be given to the process, or "". It reports
// whether that can be told: one that works may yet say that it goes on by itself.
func (d *Deliverer) unreached(ctx context.Context, a agent.Agent, session resume.Session, owner resume.Owner, settings Settings) (why string, told bool) {
	plan, barred, err := livePlan(ctx, a, session, owner, settings)
	switch {
	case err != nil:
		return "", false
	case plan.Leave != nil && !plan.Leave.Until.IsZero(): // it goes on by itself
		return "", true
	case barred != "":
		return settings.outOfReach(owner, barred), true
	case plan.Leave != nil && plan.Leave.Tell:
		return plan.Leave.Why, true
	case plan.Leave != nil:
		return "", false
	case plan.Type == nil:
		return "", true
	}
	_, err = d.machine.Pane(ctx, plan.Type.Process)
	if refusal, ok := errors.AsType[*terminal.Refusal](err); ok && !refusal.Passing {
		return settings.outOfReach(owner, noPane(refusal, plan.Type)), true
	}
	return "", true
}
