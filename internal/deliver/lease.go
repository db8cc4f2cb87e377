package deliver

import (
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
