package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

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

// heldError means that another daemon holds a lease.
type heldError struct{ by holder }

func (e *heldError) Error() string { return "it is held by host " + e.by.Host }

// acquire takes a lease for this daemon, or confirms it. A write without an answer may have succeeded:
// a lease that is stored with this daemon's name is taken over.
func (f *Fleet) acquire(ctx context.Context, l *lease, value any) error {
	began := f.now()
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	l.rev, err = f.put(ctx, Leases, l.key, data, l.rev, l.lasts)
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
	l.rev, err = f.put(ctx, Leases, l.key, data, e.Rev, l.lasts) // e.Rev is 0 where the lease has expired
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
