package deliver

import (
	"context"
	"sync"

	"resumed/internal/lease"
	"resumed/internal/resume"
)

// leases are the leases that this daemon holds. A session may be continued again while the command of
// the resume before is still ending: the lease is released by its last user.
type leases struct {
	dirs []string

	mu   sync.Mutex // guards everything that follows
	held map[resume.Key]*heldLease
}

type heldLease struct {
	*lease.Lease
	users int // guarded by leases.mu

	mu    sync.Mutex
	hosts HostLease // guarded by mu; nil: not asked for yet, or there are no other hosts
}

// take takes the lease until it is released. A *lease.HeldError says that another process has it.
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

// release releases the lease when its last user is done. The lease among hosts is released only if the
// resume has ended, not if the daemon stops.
func (l *leases) release(ctx context.Context, key resume.Key, h *heldLease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.users == 1 && ctx.Err() == nil {
		h.mu.Lock() // a resume that takes the lease from now on asks the hosts after this
		l.mu.Unlock()
		if h.hosts != nil {
			h.hosts.Release(context.WithoutCancel(ctx))
			h.hosts = nil
		}
		h.mu.Unlock()
		l.mu.Lock()
	}
	if h.users--; h.users > 0 {
		return nil
	}
	delete(l.held, key)
	return h.Release()
}
