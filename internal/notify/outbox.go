package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Store keeps what is to be told over a crash. Methods are called from several
// goroutines.
type Store interface {
	// Keep puts deliveries into the outbox and a value under a key, as one change:
	// all of it is there after a crash, or nothing is. A delivery that is there
	// already takes the new content, unless it is done.
	Keep(open []Delivery, key string, value []byte)

	// Pending returns the deliveries that are not done, oldest first.
	Pending() []Delivery

	// Tried records a try that did not deliver, and when the next one is due.
	Tried(id, channel string, tries int, nextAt time.Time, lastErr string)

	// Done ends a delivery, and returns nil once that is on disk.
	Done(ctx context.Context, id, channel, outcome string) error

	// Sync returns nil once all changes made before it are on disk.
	Sync(ctx context.Context) error

	Memory
}

// Memory keeps small values over a restart.
type Memory interface {
	// PutValue keeps a value under a key, all of it or nothing.
	PutValue(key string, value []byte)

	// Value returns the value of a key, and whether there is one.
	Value(key string) ([]byte, bool)
}

// Delivery is one notice on its way to one channel.
type Delivery struct {
	ID      string // of the notice
	Channel string
	Payload []byte    // the notice, as JSON
	At      time.Time // when the notice came to be
	Tries   int       // so far
	NextAt  time.Time // zero: due at once
	LastErr string    // of the last try; empty before the first
}

// keep makes durable what was heard: each notice is in the outbox from its first
// session on, due when it will be complete, and is replaced there as others join
// it. With it goes the mark of each edge, so an edge is either unheard, or
// gathered and marked, whenever the power fails.
func (n *Notifier) keep(ctx context.Context) error {
	n.mu.Lock()
	var changed, groups []*group
	for _, g := range n.gathering.groups {
		if g.dirty || !slices.Equal(n.active.wanting(g.Event), g.channels()) {
			g.dirty = false
			groups = append(groups, g)
			changed = append(changed, g.copy())
		}
	}
	if len(changed) == 0 && !n.gathering.dirty {
		n.mu.Unlock()
		return nil
	}
	n.gathering.dirty = false
	marks := maps.Clone(n.gathering.marks)
	n.mu.Unlock()

	err := n.put(ctx, changed, marks)
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, g := range groups {
		g.kept, g.dirty = changed[i].kept, g.dirty || err != nil
	}
	n.gathering.dirty = n.gathering.dirty || err != nil
	return err
}

// put puts groups into the outbox, for the channels that want them now.
func (n *Notifier) put(ctx context.Context, changed []*group, marks map[string]mark) error {
	told, err := encodeMarks(marks)
	if err != nil {
		return fmt.Errorf("encode what was told: %w", err)
	}
	var open, gone []Delivery
	for _, g := range changed {
		payload, err := json.Marshal(compose(g, n.opts.Host, n.opts.Zone, n.opts.Agents))
		if err != nil {
			return fmt.Errorf("encode notice: %w", err)
		}
		before := g.kept
		g.kept = nil
		for _, name := range n.active.wanting(g.Event) {
			g.kept = append(g.kept, Delivery{ID: g.ID, Channel: name, Payload: payload, At: g.At, NextAt: g.Due})
		}
		open = append(open, g.kept...)
		for _, d := range before {
			if !slices.Contains(g.channels(), d.Channel) {
				gone = append(gone, d)
			}
		}
	}
	n.opts.Store.Keep(open, marksKey, told)
	for _, d := range gone { // the configuration changed while it was gathered
		if err := n.opts.Store.Done(ctx, d.ID, d.Channel, string(Removed)); err != nil {
			return err
		}
	}
	return n.opts.Store.Sync(ctx)
}

// channels returns whom the outbox has the group for.
func (g *group) channels() []string {
	var names []string
	for _, d := range g.kept {
		names = append(names, d.Channel)
	}
	return names
}

// release hands what is complete to its channels, once it is durable.
func (n *Notifier) release(ctx context.Context) error {
	n.mu.Lock()
	complete := n.gathering.complete(n.now())
	n.mu.Unlock()
	if err := n.keep(ctx); err != nil {
		return err
	}
	n.mu.Lock()
	n.gathering.groups = slices.DeleteFunc(n.gathering.groups, func(g *group) bool { return slices.Contains(complete, g) })
	n.mu.Unlock()
	for _, g := range complete {
		if !n.share(ctx, g.kept) {
			n.hand(ctx, g.kept)
		}
	}
	return nil
}

// hand gives deliveries to the senders of their channels. One that was never
// tried is due at once: its notice is complete.
func (n *Notifier) hand(ctx context.Context, deliveries []Delivery) {
	n.mu.Lock()
	senders := n.senders
	n.mu.Unlock()
	for _, d := range deliveries {
		if d.Tries == 0 {
			d.NextAt = time.Time{}
		}
		if s := senders[d.Channel]; s != nil {
			s.push(d)
		} else {
			n.discard(ctx, d.Channel, []Delivery{d})
		}
	}
}

// discard ends deliveries whose channel is gone.
func (n *Notifier) discard(ctx context.Context, channel string, gone []Delivery) {
	if len(gone) == 0 {
		return
	}
	n.log.Warn("notices dropped with their channel, which is not configured any more", "channel", channel, "notices", len(gone))
	for _, d := range gone {
		if err := n.opts.Store.Done(ctx, d.ID, channel, string(Removed)); err != nil {
			n.log.Error("end of a delivery cannot be stored", "channel", channel, "notice", d.ID, "err", err)
		}
		n.opts.Count(channel, Removed)
	}
}

// takeUp hands over what an earlier process left: nothing joins it any more.
func (n *Notifier) takeUp(ctx context.Context) {
	n.mu.Lock()
	n.tookUp = true
	n.mu.Unlock()
	left := n.opts.Store.Pending()
	n.mu.Lock()
	fresh := make(map[string]bool)
	for _, d := range left {
		fresh[d.ID] = fresh[d.ID] || n.claim(d.ID)
	}
	left = slices.DeleteFunc(left, func(d Delivery) bool { return !fresh[d.ID] })
	// An earlier version may have died with a notice in both places.
	n.gathering.groups = slices.DeleteFunc(n.gathering.groups, func(g *group) bool {
		return slices.ContainsFunc(left, func(d Delivery) bool { return d.ID == g.ID })
	})
	n.mu.Unlock()
	n.hand(ctx, left)
}
