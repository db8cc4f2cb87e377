package deliver

import (
	"context"
	"errors"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// justNow is how old the first sign of a session may be whose process is still
// worth looking for.
const justNow = time.Minute

// Changed is told every step: some are moments at which a process can be looked
// at. It blocks on nothing.
func (d *Deliverer) Changed(c resume.Change) {
	if telling(c) {
		d.witnesses.call(c.After.Key)
	}
}

// telling reports whether a step is one at which the session's process likely
// lives: it begins before our eyes, or it has just been stopped by a limit.
func telling(c resume.Change) bool {
	switch c.Event.(type) {
	case resume.Limited:
		return c.After.Interrupted()
	case resume.Prompted, resume.Progressed:
		return c.Before.State == 0 && c.At.Sub(c.After.BornAt) < justNow
	default:
		return false
	}
}

// A process may write to its transcript before it says which session it holds:
// one that is not found is looked for again, soon.
const (
	mostLooks = 6
	nextLook  = 500 * time.Millisecond
)

// WatchPrograms looks at the processes of the sessions that are called until ctx
// is done.
func (d *Deliverer) WatchPrograms(ctx context.Context) error {
	looks := make(map[resume.Key]int) // how often each was looked for in vain
	for {
		var again <-chan time.Time
		if len(looks) > 0 {
			again = time.After(nextLook)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-d.witnesses.wake:
			for key := range d.witnesses.take() {
				looks[key] = 0
			}
		case <-again:
		}
		for key, n := range looks {
			if looks[key] = n + 1; d.witness(ctx, key) || looks[key] == mostLooks {
				delete(looks, key)
			}
		}
	}
}

// witness looks at the process of a session, and reports whether there is
// nothing more to look for.
func (d *Deliverer) witness(ctx context.Context, key resume.Key) bool {
	session, err := d.opts.Engine.Session(ctx, key)
	a := d.opts.Settings().Agent(key.Agent)
	if err != nil || a == nil {
		return true
	}
	owner, err := a.Owner(ctx, session)
	if err != nil || owner == nil {
		return time.Since(session.LimitedAt) > justNow && time.Since(session.BornAt) > justNow
	}
	d.identify(ctx, a, session, owner)
	return true
}

// identify notes which program the owner of a session runs, and returns the
// session with that.
func (d *Deliverer) identify(ctx context.Context, a agent.Agent, session resume.Session, owner *resume.Owner) resume.Session {
	program, ok := a.Identify(owner.PID)
	if !ok || program == session.Program {
		return session
	}
	_, err := d.opts.Engine.Apply(ctx, session.Key, resume.Identified{Program: program})
	if err != nil && ctx.Err() == nil && !errors.Is(err, resume.ErrNoSession) {
		d.log.Error("an event could not be applied", "session", session.Key.ID, "agent", session.Key.Agent, "err", err)
	}
	session.Program = program
	return session
}
