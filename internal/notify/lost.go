package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"
)

// TellStateError says what was wrong with what an earlier daemon left, once.
func (n *Notifier) TellStateError(why string) {
	const key = "daemon " + string(StateError)
	n.mu.Lock()
	if known := n.gathering.marks[key]; known.Edge != why && len(n.config.wanting(StateError)) > 0 {
		n.gathering.note(n.now(), n.config.GroupWait, StateError, why)
		n.gathering.marks[key] = mark{Edge: why, At: n.now().Unix(), fresh: true}
		n.gathering.dirty = true
	}
	n.mu.Unlock()
	n.wake()
}

// TellStateLost says past the outbox, which is gone with it, that what is remembered
// is lost. It returns when every channel has taken or refused that, or ctx is done.
func (n *Notifier) TellStateLost(ctx context.Context, why string) {
	n.mu.Lock()
	config := n.config
	n.mu.Unlock()
	now := n.now().UTC()
	lost := &group{ID: "ntc_" + rand.Text(), Event: StateError, At: now, Detail: why}
	notice := compose(lost, n.opts.Host, n.opts.Zone, n.opts.Agents)
	var all sync.WaitGroup
	defer all.Wait()
	for _, ch := range config.Channels {
		if slices.Contains(config.wanting(StateError), ch.Name()) {
			all.Go(func() { n.insist(ctx, ch, notice) })
		}
	}
}

// insist tries a notice until it is taken or refused for good.
func (n *Notifier) insist(ctx context.Context, ch Channel, notice Notice) {
	for tries := 1; ctx.Err() == nil; tries++ {
		err := try(ctx, ch, notice).Err
		if err == nil {
			return
		}
		n.log.Warn("notice did not arrive", "channel", ch.Name(), "event", notice.Event, "err", err)
		if _, final := errors.AsType[*PermanentError](err); final {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPolicy.Delay(tries, n.opts.Rand())):
		}
	}
}
