package deliver

import (
	"errors"
	"sync"

	"resumed/internal/lease"
	"resumed/internal/resume"
)

// leases are the sessions that this daemon looks after. A session may be
// continued again while the command that continued it before is still ending:
// the lease is given back with the last of them.
type leases struct {
	dirs []string

	mu   sync.Mutex // guards everything that follows
	held map[resume.Key]*heldLease
}

type heldLease struct {
	*lease.Lease
	users int
}

func newLeases(dirs []string) *leases {
	return &leases{dirs: dirs, held: make(map[resume.Key]*heldLease)}
}

// take makes this daemon the one that looks after the session until release is
// called. The error is a *lease.HeldError where another process does.
func (l *leases) take(key resume.Key) (release func() error, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[key]
	if h == nil {
		taken, err := lease.Acquire(l.dirs, key.Agent, key.ID)
		if err != nil {
			return nil, err
		}
		h = &heldLease{Lease: taken}
		l.held[key] = h
	}
	h.users++
	return func() error { return l.giveBack(key, h) }, nil
}

func (l *leases) giveBack(key resume.Key, h *heldLease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.users--; h.users > 0 {
		return nil
	}
	delete(l.held, key)
	return h.Release()
}

// lease takes the session's lease. It returns why not, where another process
// has it. A dry run sends nothing and takes none.
func (d *Deliverer) lease(key resume.Key) (release func(), notSent *resume.NotSent) {
	if d.opts.DryRun {
		return func() {}, nil
	}
	giveBack, err := d.leases.take(key)
	if other, ok := errors.AsType[*lease.HeldError](err); ok {
		return func() {}, &resume.NotSent{Why: other.Error()}
	}
	if err != nil {
		why := "it could not be made sure that nobody else looks after the session: " + err.Error()
		return func() {}, &resume.NotSent{Why: why}
	}
	return func() {
		if err := giveBack(); err != nil {
			d.log.Warn("a lease could not be given back", "session", key.ID, "agent", key.Agent, "err", err)
		}
	}, nil
}
