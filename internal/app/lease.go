package app

import (
	"errors"

	"resumed/internal/lease"
	"resumed/internal/resume"
)

// lease makes this daemon the one that looks after the session, until the
// lease is released. It returns why not, where another does. A dry run sends
// nothing and takes none.
func (d *daemon) lease(key resume.Key) (*lease.Lease, *resume.Held) {
	if d.opts.DryRun {
		return nil, nil
	}
	l, err := lease.Acquire(d.opts.LeaseDir, key.Agent, key.ID)
	if held, ok := errors.AsType[*lease.HeldError](err); ok {
		return nil, &resume.Held{Why: held.Error()}
	}
	if err != nil {
		return nil, &resume.Held{Why: "it could not be made sure that nobody else looks after the session: " + err.Error()}
	}
	return l, nil
}

func (d *daemon) release(l *lease.Lease, key resume.Key) {
	if err := l.Release(); err != nil {
		d.log.Warn("a lease could not be given back", "session", key.ID, "agent", key.Agent, "err", err)
	}
}
