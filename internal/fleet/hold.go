package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Hold is a session in a home that several hosts share, and that this one looks after.
type Hold struct {
	fleet    *Fleet
	hash     string
	owner    uint64 // the revision at which it is noted that this host looks after it
	lease    lease
	released bool
	tried    time.Time // when its lease was to be renewed last
}

// errReleased says that this host has given a session back meanwhile.
var errReleased = errors.New("it was given back meanwhile")

// ElsewhereError says that another host looks after a session.
type ElsewhereError struct{ Host string }

func (e *ElsewhereError) Error() string { return "host " + e.Host + " looks after it" }

// GoneError says that the host that looked after a session last is gone, and has not
// given it back: nobody knows how it stands there.
type GoneError struct{ Host string }

func (e *GoneError) Error() string {
	return "host " + e.Host + " looked after it last, and is gone"
}

// Hold makes this host the one that looks after a shared session, until Release. It
// takes the session over from a host that is gone where that is wanted.
func (f *Fleet) Hold(ctx context.Context, hash string, takeOver bool) (*Hold, error) {
	if s := f.Standing(); s.Alone {
		return nil, fmt.Errorf("this host is alone (%s)", s.Why)
	}
	h := &Hold{fleet: f, hash: hash, tried: f.now()}
	h.lease = lease{key: SessionKey(hash), released: h.isReleased}
	err := h.Confirm(ctx)
	if err == nil {
		err = h.own(ctx, takeOver)
	}
	if err != nil {
		f.give(context.WithoutCancel(ctx), &h.lease)
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holds[h] = struct{}{}
	f.nudge()
	return h, nil
}

// Confirm makes sure that this host still looks after the session, as of some seconds
// ago at most: a machine may have slept before the answer was read. What only this host may
// do is done at once.
func (h *Hold) Confirm(ctx context.Context) error {
	f := h.fleet
	f.mu.Lock()
	l, released := h.lease, h.released
	f.mu.Unlock()
	if released {
		return errReleased
	}
	err := f.take(ctx, &l, f.me())
	f.mu.Lock()
	h.lease, released = l, h.released
	fresh := f.fresh(l)
	f.mu.Unlock()
	held, elsewhere := errors.AsType[*heldError](err)
	switch {
	case released: // Release gave back what was held before
		f.give(context.WithoutCancel(ctx), &l)
		return errReleased
	case elsewhere:
		return &ElsewhereError{held.by.Host}
	case err == nil && !fresh:
		return errors.New("the answer came too late")
	default:
		return err
	}
}

func (h *Hold) isReleased() bool {
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	return h.released
}

// own notes who looks after the session, for the time when its lease is over.
func (h *Hold) own(ctx context.Context, takeOver bool) error {
	f := h.fleet
	data, err := json.Marshal(f.me())
	if err != nil {
		return err
	}
	e, err := f.get(ctx, Accounts, OwnerKey(h.hash))
	if err != nil && !errors.Is(err, ErrMissing) {
		return err
	}
	if before := f.holder(e); err == nil && before.Host != f.opts.Host { // it has not released the session
		_, err := f.get(ctx, Leases, HostKey(before.Host))
		switch gone := errors.Is(err, ErrMissing); {
		case err != nil && !gone:
			return err
		case !gone:
			return &ElsewhereError{before.Host}
		case !takeOver:
			return &GoneError{before.Host}
		}
	}
	h.owner, err = f.put(ctx, Accounts, OwnerKey(h.hash), data, e.Rev, 0)
	return err
}

// Release gives the session back: whoever wants it next need not ask. What was written since
// by another Hold of it stays.
func (h *Hold) Release(ctx context.Context) {
	f := h.fleet
	f.mu.Lock()
	delete(f.holds, h)
	h.released = true
	l := h.lease
	f.mu.Unlock()
	_ = f.remove(ctx, Accounts, OwnerKey(h.hash), h.owner) // else the next one is asked
	f.give(ctx, &l)
}

// renewHolds keeps the leases of what this host looks after, and returns when that is due
// again; zero: it looks after nothing.
func (f *Fleet) renewHolds(ctx context.Context) (next time.Time) {
	f.mu.Lock()
	var due []*Hold
	now, beat := f.now(), f.pace.heartbeat
	for h := range f.holds {
		if now.Sub(h.tried).Abs() >= beat {
			h.tried = now
			due = append(due, h)
		}
		if at := h.tried.Add(beat); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	f.mu.Unlock()
	for _, h := range due {
		_ = h.Confirm(ctx) // what runs is not ended; nothing more is sent
	}
	return next
}

// tidy forgets what an earlier daemon of this host looked after and this one does not:
// nobody else would have it.
func (f *Fleet) tidy(ctx context.Context) {
	if f.tidied || f.now().Sub(f.started) < tidyAfter {
		return
	}
	all, err := f.list(ctx, Accounts, OwnerKey(""))
	for _, e := range all {
		if by := f.holder(e); by.Host == f.opts.Host && by.Life != f.opts.Life {
			err = errors.Join(err, f.remove(ctx, Accounts, e.Key, e.Rev))
		}
	}
	f.tidied = err == nil
}

// tidyAfter is how long a daemon may take to find again what an earlier one has left
// running.
const tidyAfter = 2 * time.Minute
