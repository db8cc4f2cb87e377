package fleet

import (
	"context"
	"errors"
	"time"

	"resumed/internal/resume"
)

// simLink is the connection of a host to the store.
type simLink struct{ h *simHost }

var errSilence = errors.New("nobody answered")

// way lets the world go on while the host waits, and returns whether the request and the answer arrive.
func (l *simLink) way(write func()) (asked, answered bool) {
	h, w := l.h, l.h.w
	life := h.lives
	trouble := !w.calm && w.now.Before(w.end)
	if w.chance(0.15) {
		l.meanwhile(trouble)
	}
	if h.lives != life {
		return false, false // it died meanwhile
	}
	if w.now.Before(h.cut) {
		h.disturb()
		return false, false
	}
	if !trouble || !w.chance(0.04) {
		return true, true
	}
	h.disturb()
	switch w.dice.IntN(3) {
	case 0:
		return true, false // the acknowledgement is lost
	case 1:
		if write != nil {
			w.late = append(w.late, lateWrite{w.now.Add(w.upTo(90 * time.Second)), write})
		}
	}
	return false, false
}

// meanwhile lets the world go on: for a moment, or for as long as the machine sleeps.
func (l *simLink) meanwhile(trouble bool) {
	h, w := l.h, l.h.w
	if w.depth == 3 {
		return
	}
	w.depth++
	was := h.busy
	h.busy = true
	if h.called.IsZero() {
		h.called = w.now
		defer func() {
			if h.held() {
				h.disturb()
			}
			h.called = time.Time{}
		}()
	}
	wait := w.upTo(300 * time.Millisecond)
	if trouble && w.chance(0.03) {
		wait = w.upTo(80 * time.Second)
		h.asleep = w.now.Add(wait)
		h.disturb()
		w.log("%s sleeps in the middle, until %s", h.name, h.asleep.Format("04:05"))
	}
	w.run(w.now.Add(wait), nil)
	h.busy = was
	w.depth--
}

func (l *simLink) Get(ctx context.Context, b Bucket, key string) (Entry, error) {
	asked, answered := l.way(nil)
	if !asked || !answered {
		return Entry{}, errSilence
	}
	e, err := l.h.w.store.Get(ctx, b, key)
	if old, ok := l.h.old[key]; ok && b == Accounts && !l.h.w.calm && l.h.w.chance(0.05) {
		return old, nil
	}
	if b == Accounts && key == simAccount && err == nil {
		if _, kept := l.h.old[key]; !kept || l.h.w.chance(0.2) {
			l.h.old[key] = e
		}
		l.shown(e)
	}
	return e, err
}

// shown stores what the host knows about the account.
func (l *simLink) shown(e Entry) {
	if a, err := ReadAccount(e); err == nil && (a.Epoch > l.h.known.Epoch || a.Epoch == l.h.known.Epoch && a.State == resume.Closed) {
		l.h.known = a
	}
}

func (l *simLink) List(ctx context.Context, b Bucket, prefix string) ([]Entry, error) {
	asked, answered := l.way(nil)
	if !asked || !answered {
		return nil, errSilence
	}
	return l.h.w.store.List(ctx, b, prefix)
}

func (l *simLink) Update(ctx context.Context, b Bucket, key string, value []byte, at uint64, lasts time.Duration) (rev uint64, err error) {
	do := func() { rev, err = l.h.w.store.Update(ctx, b, key, value, at, lasts) }
	return l.write(do, &rev, &err)
}

func (l *simLink) Delete(ctx context.Context, b Bucket, key string, at uint64) (err error) {
	var rev uint64
	_, err = l.write(func() { err = l.h.w.store.Delete(ctx, b, key, at) }, &rev, &err)
	return err
}

func (l *simLink) write(do func(), rev *uint64, err *error) (uint64, error) {
	asked, answered := l.way(do)
	if asked {
		if do(); l.h.w.chance(0.15) { // before the answer is read
			l.meanwhile(!l.h.w.calm && l.h.w.now.Before(l.h.w.end))
		}
	}
	if !answered {
		return 0, errSilence
	}
	return *rev, *err
}

func (l *simLink) Watch(context.Context) (<-chan Entry, error) {
	return nil, errSilence
}

func (l *simLink) Publish(context.Context, string, string, []byte) (Notice, error) {
	return Notice{}, errSilence
}

func (l *simLink) Notices(context.Context, func(context.Context, Notice) error) error {
	return errSilence
}

func (l *simLink) Now(context.Context) (time.Time, error) {
	asked, answered := l.way(nil)
	if !asked || !answered {
		return time.Time{}, errSilence
	}
	return l.h.w.now, nil
}
