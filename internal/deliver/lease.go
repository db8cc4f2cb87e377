package deliver

import (
	"context"
	"sync"

	"resumed/internal/lease"
	"resumed/internal/resume"
)

// leases are the sessions that this daemon looks after. A session may be
// continued again while the command that continued it before is still ending:
// the lease is released with the last of them.
type leases struct {
	dirs []string

	mu   sync.Mutex // guards everything that follows
	held map[resume.Key]*heldLease
}

type heldLease struct {
	*lease.Lease
	users int // guarded by leases.mu

	mu    sync.Mutex
	hosts HostLease // guarded by mu; nil: other hosts were not asked, or there are none
}

func newLeases(dirs []string) *leases {
	return &leases{dirs: dirs, held: make(map[resume.Key]*heldLease)}
}

// take makes this daemon the one that looks after the session until it is
// released. The error is a *lease.HeldError if another process does.
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

// release gives the lease back when its last user is done. Other hosts may have the session only if what was sent
// has ended, and not because the daemon ends.
func (l *leases) release(ctx context.Context, key resume.Key, h *heldLease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.users == 1 && ctx.Err() == nil {
		h.mu.Lock() // a resume that takes the session from now on asks the hosts after this
		l.mu.Unlock()
		h.releaseHosts(context.WithoutCancel(ctx))
		h.mu.Unlock()
		l.mu.Lock()
	}
	if h.users--; h.users > 0 {
		return nil
	}
	delete(l.held, key)
	return h.Release()
}

// releaseHosts lets other hosts have the session, with mu held.
func (h *heldLease) releaseHosts(ctx context.Context) {
	if h.hosts != nil {
		h.hosts.Release(ctx)
		h.hosts = nil
	}
}
