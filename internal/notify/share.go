package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

// share hands in what is told of an account, that it is limited or much of it is used: other hosts see it, too. It reports whether it need not be
// sent from here: then the outbox is done with it.
func (n *Notifier) share(ctx context.Context, kept []Delivery) bool {
	if n.opts.Share == nil || len(kept) == 0 {
		return false
	}
	var notice Notice
	if json.Unmarshal(kept[0].Payload, &notice) != nil || notice.Event != Limited && notice.Event != Usage || !n.opts.Share(ctx, notice) {
		return false
	}
	for _, d := range kept {
		if err := n.opts.Store.Done(ctx, d.ID, d.Channel, string(Shared)); err != nil {
			n.log.Error("end of a delivery cannot be stored", "channel", d.Channel, "notice", d.ID, "err", err)
		}
		n.opts.Count(d.Channel, Shared)
	}
	return true
}

// Tells reports whether any channel here wants what hosts share.
func (n *Notifier) Tells() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.now().Sub(n.declined).Abs() < declineFor {
		return false
	}
	for _, event := range []Event{Limited, Usage, HostGone} {
		if len(n.config.wanting(event)) > 0 {
			return true
		}
	}
	return false
}

// declineFor is how long a host leaves telling to others after it was given what none of its
// channels wants: whoever handed it in may have one. It does so each declineAgain at most: it has notices of its own to tell.
const (
	declineFor   = 2 * time.Minute
	declineAgain = 10 * time.Minute
)

// Accept takes a notice that this host tells for all. It returns nil once that
// survives a crash.
func (n *Notifier) Accept(ctx context.Context, notice Notice) error {
	payload, err := json.Marshal(notice)
	if err != nil {
		return err
	}
	n.mu.Lock()
	var open []Delivery
	for _, name := range n.config.wanting(notice.Event) {
		open = append(open, Delivery{ID: notice.ID, Channel: name, Payload: payload, At: notice.At})
	}
	marks := maps.Clone(n.gathering.marks)
	if len(open) == 0 && n.now().Sub(n.declined).Abs() >= declineAgain {
		n.declined = n.now()
	}
	n.mu.Unlock()
	if len(open) == 0 {
		return fmt.Errorf("no channel here gets %s notices: another host sends it", notice.Event)
	}
	told, err := encodeMarks(marks)
	if err != nil {
		return fmt.Errorf("encode what was told: %w", err)
	}
	n.opts.Store.Keep(open, marksKey, told)
	if err := n.opts.Store.Sync(ctx); err != nil {
		return err
	}
	n.mu.Lock()
	now := n.tookUp && n.claim(notice.ID) // else it is taken up from the outbox, or was told before
	n.mu.Unlock()
	if now {
		n.hand(ctx, open)
	}
	return nil
}

// maxHanded bounds how many notices are known that were handed to the senders.
const maxHanded = 10_000

// claim reports whether a notice was not handed to the senders yet, and that it is now.
// n.mu must be held.
func (n *Notifier) claim(id string) bool {
	if n.handed[id] {
		return false
	}
	if n.handed == nil || len(n.handed) >= maxHanded {
		n.handed = make(map[string]bool)
	}
	n.handed[id] = true
	return true
}
