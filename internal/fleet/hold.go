package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

// Hold is a session in a home directory that several hosts share, while this host has it.
type Hold struct {
	fleet    *Fleet
	hash     string
	owner    uint64 // the revision of the owner record of this host
	lease    lease
	released bool
	tried    time.Time // when the renewal of its lease was last tried
}

var errReleased = errors.New("it was given back meanwhile")

// ElsewhereError means that another host has the session.
type ElsewhereError struct{ Host string }

func (e *ElsewhereError) Error() string { return "host " + e.Host + " looks after it" }

// GoneError means that the last host that had a session is gone, and has not released it: the session
// may still run there.
type GoneError struct{ Host string }

func (e *GoneError) Error() string {
	return "host " + e.Host + " looked after it last, and is gone"
}

// Hold takes a shared session for this host, until Release. With takeOver it takes the session from a
// host that is gone.
func (f *Fleet) Hold(ctx context.Context, hash string, takeOver bool) (*Hold, error) {
	if s := f.Standing(); s.Alone {
		return nil, fmt.Errorf("this host is alone (%s)", s.Why)
	}
	h := &Hold{fleet: f, hash: hash, tried: f.now()}
	h.lease = lease{key: SessionKey(hash), lasts: f.pace.lease(), released: h.isReleased}
	f.mu.Lock()
	f.asking[hash]++
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.asking[hash]--; f.asking[hash] == 0 {
			delete(f.asking, hash)
		}
	}()
	err := h.Confirm(ctx)
	if err == nil {
		err = h.own(ctx, takeOver)
	}
	if err != nil {
		f.releaseLease(context.WithoutCancel(ctx), &h.lease)
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holds[h] = struct{}{}
	f.kick.Send()
	return h, nil
}

// Confirm checks that this host still has the session, as of at most some seconds ago: the machine may
// have slept before the answer was read. The caller acts at once.
func (h *Hold) Confirm(ctx context.Context) error {
	f := h.fleet
	f.mu.Lock()
	l, released := h.lease, h.released
	f.mu.Unlock()
	if released {
		return errReleased
	}
	err := f.acquire(ctx, &l, f.me())
	f.mu.Lock()
	h.lease, released = l, h.released
	fresh := l.rev != 0 && f.now().Sub(l.at).Abs() < f.pace.goodFor() // no other host can get it before the next action has ended
	f.mu.Unlock()
	held, elsewhere := errors.AsType[*heldError](err)
	switch {
	case released: // Release has deleted an earlier revision
		f.releaseLease(context.WithoutCancel(ctx), &l)
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

// own writes the owner record of the session, which outlives its lease.
func (h *Hold) own(ctx context.Context, takeOver bool) error {
	f := h.fleet
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
	h.owner, err = f.put(ctx, Accounts, OwnerKey(h.hash), f.me(), e.Rev, 0)
	f.oweUnlessAnswered(h.hash, err)
	return err
}

// longestWrite is how long a write may take that got no answer.
const longestWrite = 2 * time.Minute

// oweUnlessAnswered notes that this host may be stored as the owner of a session that it does not have. Other
// hosts would wait for it as long as its daemon runs.
func (f *Fleet) oweUnlessAnswered(hash string, err error) {
	if err == nil || errors.Is(err, ErrConflict) || errors.Is(err, ErrMissing) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.owed[hash] = f.now()
	f.kick.Send()
}

// payOwed deletes the owner records that this host should not have, and returns when to call it again;
// zero: there are none.
func (f *Fleet) payOwed(ctx context.Context) time.Time {
	f.mu.Lock()
	owed := maps.Clone(f.owed)
	f.mu.Unlock()
	for hash, since := range owed {
		e, err := f.get(ctx, Accounts, OwnerKey(hash))
		mine := err == nil && f.holder(e) == f.me()
		if mine && !f.has(hash) { // looked at after the record was read: a Hold since then has changed its revision
			err = f.remove(ctx, Accounts, e.Key, e.Rev)
		}
		if answered := err == nil || errors.Is(err, ErrMissing); !answered || f.now().Sub(since).Abs() < longestWrite {
			continue
		}
		f.mu.Lock()
		if f.owed[hash].Equal(since) {
			delete(f.owed, hash)
		}
		f.mu.Unlock()
	}
	if len(owed) == 0 {
		return time.Time{}
	}
	return f.now().Add(f.pace.again())
}

// has reports whether this host has a session, or is about to.
func (f *Fleet) has(hash string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for h := range f.holds {
		if h.hash == hash {
			return true
		}
	}
	return f.asking[hash] > 0
}

// Release releases the session: the next host need not ask a person. A record that another Hold has
// written since stays.
func (h *Hold) Release(ctx context.Context) {
	f := h.fleet
	f.mu.Lock()
	delete(f.holds, h)
	h.released = true
	l := h.lease
	f.mu.Unlock()
	f.oweUnlessAnswered(h.hash, f.remove(ctx, Accounts, OwnerKey(h.hash), h.owner))
	f.releaseLease(ctx, &l)
}

// renewHolds renews the leases of the sessions that this host has, and returns when the next renewal is
// due; zero: it has none.
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
		_ = h.Confirm(ctx) // a running resume is not stopped, but nothing more is sent
	}
	return next
}

// deleteOldOwners deletes the owner records of an earlier daemon of this host: with them, no other host
// would take those sessions.
func (f *Fleet) deleteOldOwners(ctx context.Context) {
	if f.oldOwnersDeleted || f.now().Sub(f.started) < oldOwnersAfter {
		return
	}
	all, err := f.list(ctx, Accounts, OwnerKey(""))
	for _, e := range all {
		if by := f.holder(e); by.Host == f.opts.Host && by.Life != f.opts.Life {
			err = errors.Join(err, f.remove(ctx, Accounts, e.Key, e.Rev))
		}
	}
	f.oldOwnersDeleted = err == nil
}

// oldOwnersAfter is how long a daemon may take to find the resumes of an earlier daemon that still run.
const oldOwnersAfter = 2 * time.Minute

// lease is a key that one daemon of one host holds as long as it renews it. The store's clock decides
// whether it has expired.
type lease struct {
	key   string
	mine  bool // a lease of an earlier daemon of this host is not taken over
	lasts time.Duration
	rev   uint64    // 0: not held, as far as known
	at    time.Time // when it was confirmed, by this host's clock

	released func() bool // reports whether it was released while it was renewed: then it is not taken again; nil: never
}

// holder is the daemon that holds a lease, as stored.
type holder struct {
	Host string `json:"host"`
	Life string `json:"life"` // of its daemon
}

type heldError struct{ by holder }

func (e *heldError) Error() string { return "it is held by host " + e.by.Host }

// acquire takes a lease for this daemon, or confirms it. A write without an answer may have succeeded:
// a lease that is stored with this daemon's name is taken over.
func (f *Fleet) acquire(ctx context.Context, l *lease, value any) error {
	began := f.now()
	var err error
	if l.rev, err = f.put(ctx, Leases, l.key, value, l.rev, l.lasts); errors.Is(err, ErrConflict) {
		began = f.now()
		err = f.acquireAgain(ctx, l, value)
	}
	if err == nil {
		l.at = began
	}
	return err
}

// acquireAgain reads the holder after a conflict, and acquires a lease that has expired or is this host's own.
func (f *Fleet) acquireAgain(ctx context.Context, l *lease, value any) error {
	l.rev = 0
	e, err := f.get(ctx, Leases, l.key)
	if l.released != nil && l.released() { // asked last: if there is a later holder, its lease was read
		return errReleased
	}
	if err != nil && !errors.Is(err, ErrMissing) {
		return err
	}
	by := f.holder(e)
	if err == nil && (by.Host != f.opts.Host || by.Life != f.opts.Life && l.mine) {
		return &heldError{by}
	}
	l.rev, err = f.put(ctx, Leases, l.key, value, e.Rev, l.lasts) // e.Rev is 0 where the lease has expired
	return err
}

// releaseLease releases a lease. It is no error if the lease is gone already.
func (f *Fleet) releaseLease(ctx context.Context, l *lease) {
	if l.rev == 0 {
		return
	}
	_ = f.remove(ctx, Leases, l.key, l.rev) // otherwise it expires
	l.rev = 0
}

func (f *Fleet) me() holder { return holder{f.opts.Host, f.opts.Life} }

func (f *Fleet) holder(e Entry) holder {
	var h holder
	_ = Decode(e.Value, &h) // a value that cannot be read names no host
	if e.By != "" {
		h.Host = e.By
	}
	return h
}
