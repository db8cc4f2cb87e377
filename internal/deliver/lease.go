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

// askHosts makes sure that no other host looks after a session that others may
// continue as well.
func (h *heldLease) askHosts(ctx context.Context, opts Options, session resume.Session) *resume.NotSent {
	if opts.HostLease == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hosts != nil {
		return nil
	}
	hosts, notSent := opts.HostLease(ctx, session)
	h.hosts = hosts
	return notSent
}

// confirmHosts makes sure of it once more. It is the last thing that is
// done before the prompt is sent: what is done before may take longer than the lease of the hosts is valid.
func (h *heldLease) confirmHosts(ctx context.Context) *resume.NotSent {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hosts == nil {
		return nil
	}
	if err := h.hosts.Confirm(ctx); err != nil {
		return &resume.NotSent{Why: "cannot tell whether another machine looks after the session: " + err.Error()}
	}
	return nil
}
