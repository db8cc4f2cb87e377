package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"time"

	"resumed/internal/resume"
	"resumed/internal/wake"
)

// NoticeID is the id of a notice about an account that is reported once per window, however many hosts
// publish it.
func NoticeID(account, event string, window time.Time) string {
	at := "-"
	if !window.IsZero() {
		at = window.UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	return strings.Join([]string{account, event, at}, "/")
}

// Window returns the window of an account that a reset belongs to, for NoticeID: resets that are close
// together belong to the same window.
func (a Account) Window(reset time.Time) time.Time {
	if !a.Reset.IsZero() && (reset.IsZero() || reset.Sub(a.Reset).Abs() <= resume.SameWindow) {
		return a.Reset
	}
	return reset
}

// PublishNotice publishes a notice that one host of the fleet reports to people. It returns false if that
// failed, or if another host has taken its id for something else: then this host reports the notice itself.
func (f *Fleet) PublishNotice(ctx context.Context, id string, data []byte) bool {
	if f.Standing().Alone {
		return false
	}
	first, err := f.opts.Store.Publish(ctx, f.opts.Host, id, data)
	f.noteAnswer(true, err)
	return err == nil && (first.Host == f.opts.Host || f.opts.Same(first, data))
}

func (f *Fleet) runNotifier(ctx context.Context) {
	if !f.opts.Tells() {
		f.endNotices()
		f.releaseLease(ctx, &f.notifier)
		return
	}
	f.notifier.lasts = f.host.lasts
	if err := f.acquire(ctx, &f.notifier, f.me()); err != nil {
		if _, held := errors.AsType[*heldError](err); held {
			f.endNotices()
		}
		return
	}
	f.startNotices(ctx)
}

func (f *Fleet) startNotices(ctx context.Context) {
	if f.stopNotices != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var loop sync.WaitGroup
	loop.Go(func() {
		for ctx.Err() == nil { // the connection may be lost
			_ = f.opts.Store.Notices(ctx, f.deliver)
			wake.Sleep(ctx, f.pace.again())
		}
	})
	f.stopNotices = func() {
		cancel()
		loop.Wait()
	}
}

func (f *Fleet) endNotices() {
	if f.stopNotices != nil {
		f.stopNotices()
		f.stopNotices = nil
	}
}

// wantedFor is how long a notice waits for a host that can report it.
const wantedFor = time.Hour

// deliver reports one notice, or leaves it to a host that can. After wantedFor, it is dropped.
func (f *Fleet) deliver(ctx context.Context, n Notice) error {
	err := f.opts.Deliver(ctx, n)
	if err != nil && ctx.Err() == nil && f.time().Sub(n.At) > wantedFor {
		f.opts.Metrics.Dropped("unwanted")
		return nil
	}
	return err
}

// goneRecord says which host reports that another one is gone, and whether it has. It is a lease until then:
// if that host goes too, another one reports it.
type goneRecord struct {
	holder
	Told bool `json:"told"`
}

// reportMissing reports the hosts that are gone while sessions wait there, and returns whether it must be
// called again soon. Such a notice is not left to the holder of the notifier's lease, which may have no
// channel for it.
func (f *Fleet) reportMissing(ctx context.Context) (again bool) {
	for name, m := range f.missing {
		switch {
		case m.told || m.Waiting == 0 || !f.opts.TellsGone():
		case !f.reportGone(ctx, m):
			again = true
		default:
			m.told = true
			f.mu.Lock()
			f.missing[name] = m
			f.mu.Unlock()
		}
	}
	return again
}

// reportGone reports that a host is gone, unless another one does, and returns whether it has been reported.
func (f *Fleet) reportGone(ctx context.Context, gone Host) bool {
	id, data := f.opts.HostGone(gone)
	sum := sha256.Sum256([]byte(id))
	key := SessionKey("gone-" + hex.EncodeToString(sum[:12]))
	e, err := f.get(ctx, Leases, key)
	if err == nil {
		var by goneRecord
		readable := Decode(e.Value, &by) == nil
		if readable && by.Told {
			return true
		}
		if f.holder(e) != f.me() {
			return false
		}
	} else if !errors.Is(err, ErrMissing) {
		return false
	}
	rev, err := f.put(ctx, Leases, key, goneRecord{f.me(), false}, e.Rev, f.pace.lease())
	if err != nil {
		return false
	}
	deliver, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	if err := f.opts.Deliver(deliver, Notice{Host: f.opts.Host, ID: id, At: f.time(), Data: data}); err != nil {
		_ = f.remove(ctx, Leases, key, rev) // another host may be able to; otherwise it expires
		return false
	}
	_, _ = f.put(ctx, Leases, key, goneRecord{f.me(), true}, rev, 0) // otherwise it may be reported once more
	return true
}
