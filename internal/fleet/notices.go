package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// NoticeID names what people are told of an account once a window, whichever hosts
// see it.
func NoticeID(account, event string, window time.Time) string {
	at := "-"
	if !window.IsZero() {
		at = window.UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	return strings.Join([]string{account, event, at}, "/")
}

// Window returns which window of an account a time lies in, for NoticeID: statements of
// one reset that lie close together are of one window.
func (a Account) Window(reset time.Time) time.Time {
	if !a.Reset.IsZero() && (reset.IsZero() || reset.Sub(a.Reset).Abs() <= sameWindow) {
		return a.Reset
	}
	return reset
}

// Tell hands in a notice that people are given once, by one host of the fleet. It
// reports whether that is done: a host that is alone tells people itself.
func (f *Fleet) Tell(ctx context.Context, id string, data []byte) bool {
	if f.Standing().Alone {
		return false
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	err := f.opts.Store.Publish(ctx, f.opts.Host, id, data)
	f.heard(err)
	return err == nil
}

// tendNotices makes one host of the fleet the one that tells people.
func (f *Fleet) tendNotices(ctx context.Context) {
	if f.opts.Deliver == nil {
		return
	}
	if f.opts.Tells != nil && !f.opts.Tells() {
		f.stopListening()
		f.give(ctx, &f.notifier)
		return
	}
	f.notifier.lasts = f.host.lasts
	if err := f.take(ctx, &f.notifier, f.me()); err != nil {
		if _, held := errors.AsType[*heldError](err); held {
			f.stopListening()
		}
		return
	}
	f.tellOfGone(ctx)
	if f.listening != nil && !f.listening.ended() {
		return
	}
	f.stopListening()
	ctx, stop := context.WithCancel(ctx)
	notices, err := f.opts.Store.Notices(ctx)
	if err != nil {
		stop()
		return
	}
	f.listening = &listener{stop, make(chan struct{})}
	over := f.listening.over
	go func() {
		defer close(over)
		for n := range notices {
			f.deliver(ctx, n)
		}
	}()
}

// wantedFor is how long a notice waits for a host that can tell it.
const wantedFor = time.Hour

// deliver tells people of one notice, or leaves it to a host that can. One that no host can tell holds up no other.
func (f *Fleet) deliver(ctx context.Context, n Notice) {
	err := f.opts.Deliver(ctx, n)
	if err != nil && ctx.Err() == nil && f.time().Sub(n.At) > wantedFor {
		f.count(Count{Dropped: "unwanted"})
		err = nil
	}
	if err == nil {
		_ = n.Done(ctx) // else it is told again
	} else {
		_ = n.Leave(ctx)
	}
}

// listener is who hears of notices.
type listener struct {
	stop func()
	over chan struct{} // closed when it has ended
}

// ended reports whether it has, by itself: the connection may have been lost.
func (l *listener) ended() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

func (f *Fleet) stopListening() {
	if f.listening != nil {
		f.listening.stop()
		<-f.listening.over
		f.listening = nil
	}
}

// meet learns who is there. Who is not any longer, and has not said good-bye, is
// remembered until people were told.
func (f *Fleet) meet(entries []Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := make(map[string]Host, len(entries))
	for _, e := range entries {
		name, _ := strings.CutPrefix(e.Key, hostPrefix)
		if was, known := f.hosts[name]; known && was.rev == e.Rev {
			now[name] = was
			continue
		}
		if !GoodKey(name) {
			continue
		}
		now[name] = readHost(e)
		delete(f.gone, name)
		delete(f.missing, name)
	}
	f.miss(now)
	for name, h := range f.hosts {
		if _, there := now[name]; !there && !h.Bye && h.Waiting > 0 && name != f.opts.Host {
			f.gone[name] = h
		}
	}
	f.hosts = now
}

// miss remembers who is not there any longer, as long as what they showed is.
func (f *Fleet) miss(now map[string]Host) {
	for name, h := range f.hosts {
		if _, there := now[name]; !there && !h.Bye && len(h.Shows) > 0 {
			f.missing[name] = h
		}
	}
	maps.DeleteFunc(f.missing, func(_ string, h Host) bool { return f.now().Sub(h.SeenAt) > ViewTTL })
}

// tellOfGone has people told of hosts that are gone while sessions wait there.
func (f *Fleet) tellOfGone(ctx context.Context) {
	if f.opts.HostGone == nil {
		return
	}
	f.mu.Lock()
	gone := slices.Collect(maps.Values(f.gone))
	f.mu.Unlock()
	for _, h := range gone {
		id, data := f.opts.HostGone(h)
		if id != "" && !f.Tell(ctx, id, data) {
			continue // at the next heartbeat
		}
		f.mu.Lock()
		delete(f.gone, h.Host)
		f.mu.Unlock()
	}
}
