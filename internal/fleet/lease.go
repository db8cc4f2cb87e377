package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"
)

// lease is a key that one daemon of one host holds as long as it renews it. The store's clock
// decides whether it still does.
type lease struct {
	key   string
	mine  bool          // the lease of an earlier daemon of this host is not taken over
	lasts time.Duration // zero: three heartbeats of this host
	rev   uint64        // 0: not held, as far as is known
	at    time.Time     // when it was confirmed, by this host's clock

	released func() bool // it was released while it was renewed, and is not taken again; nil: that cannot be
}

// holder is the daemon that holds a lease, as it is stored.
type holder struct {
	Host string `json:"host"`
	Life string `json:"life"` // of its daemon
}

// heldError says that another daemon holds a lease.
type heldError struct{ by holder }

func (e *heldError) Error() string { return "it is held by host " + e.by.Host }

// acquire makes this daemon the holder of a lease, or confirms that it is. A write without an
// answer may have been carried out: a lease that is stored with the own name is taken over.
func (f *Fleet) acquire(ctx context.Context, l *lease, value any) error {
	began := f.now()
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	l.rev, err = f.put(ctx, Leases, l.key, data, l.rev, f.lasts(l))
	if errors.Is(err, ErrConflict) {
		began = f.now()
		err = f.acquireAgain(ctx, l, data)
	}
	if err == nil {
		l.at = began
	}
	return err
}

// acquireAgain reads the holder after a conflict, and acquires a lease that has expired or is this host's own.
func (f *Fleet) acquireAgain(ctx context.Context, l *lease, data []byte) error {
	l.rev = 0
	e, err := f.get(ctx, Leases, l.key)
	if l.released != nil && l.released() { // asked last: a later holder's lease was read, if any
		return errReleased
	}
	if err != nil && !errors.Is(err, ErrMissing) {
		return err
	}
	by := f.holder(e)
	if err == nil && (by.Host != f.opts.Host || by.Life != f.opts.Life && l.mine) {
		return &heldError{by}
	}
	l.rev, err = f.put(ctx, Leases, l.key, data, e.Rev, f.lasts(l)) // e.Rev is 0 where the lease has expired
	return err
}

// releaseLease releases a lease. One that is gone already is released, too.
func (f *Fleet) releaseLease(ctx context.Context, l *lease) {
	if l.rev == 0 {
		return
	}
	_ = f.remove(ctx, Leases, l.key, l.rev) // else its time ends it
	l.rev = 0
}

// fresh reports whether a lease was confirmed just now: no other host can hold it before
// the next action has ended.
func (f *Fleet) fresh(l lease) bool {
	return l.rev != 0 && f.now().Sub(l.at).Abs() < f.pace.goodFor()
}

func (f *Fleet) lasts(l *lease) time.Duration {
	return cmp.Or(l.lasts, f.pace.lease())
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
