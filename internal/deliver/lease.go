package deliver

import (
	"context"
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
	users int // guarded by leases.mu

	mu   sync.Mutex
	hold Hold // guarded by mu; nil: other hosts were not asked, or there are none
}

func newLeases(dirs []string) *leases {
	return &leases{dirs: dirs, held: make(map[resume.Key]*heldLease)}
}

// take makes this daemon the one that looks after the session until it is given
// back. The error is a *lease.HeldError where another process does.
func (l *leases) take(key resume.Key) (*heldLease, error) {
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
	return h, nil
}

// giveBack gives it back. Other hosts may have the session only where what was sent
// has ended, and not with the daemon.
func (l *leases) giveBack(ctx context.Context, key resume.Key, h *heldLease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.users--; h.users > 0 {
		return nil
	}
	delete(l.held, key)
	if h.mu.Lock(); h.hold != nil && ctx.Err() == nil {
		go h.hold.Release(context.WithoutCancel(ctx))
	}
	h.mu.Unlock()
	return h.Release()
}
