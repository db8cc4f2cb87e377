package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"resumed/internal/outbox"
	"resumed/internal/resume"
)

// Store stores notices durably. Its methods are called from several goroutines.
type Store interface {
	// Keep puts deliveries into the outbox and a value under a key, if there is one, as one change: after
	// a crash either all of it is there or nothing. An existing delivery gets the new content, unless it
	// is done.
	Keep(open []Delivery, key string, value []byte)

	// Pending returns the deliveries that are not done, oldest first.
	Pending() []Delivery

	// Tried records a try that did not deliver, and when the next one is due.
	Tried(id, channel string, tries int, nextAt time.Time, lastErr string)

	// Done ends a delivery, and returns nil once that is on disk. After an error it is ended too, and
	// is written to disk as soon as possible.
	Done(ctx context.Context, id, channel, outcome string) error

	// Sync returns nil once all earlier changes are on disk. After an error they still wait to be
	// written. It is called without sessions: those may have records that cannot be written.
	Sync(ctx context.Context, sessions ...resume.Key) error

	Memory
}

// Memory stores small values across restarts.
type Memory interface {
	// PutValue stores a value under a key, all of it or nothing.
	PutValue(key string, value []byte)

	// Value returns the value of a key, and whether there is one.
	Value(key string) ([]byte, bool)
}

// Delivery is one notice for one channel.
type Delivery = outbox.Delivery

// store makes durable what was reported: each notice is in the outbox from its first session on, due
// when it will be complete, and is replaced there when sessions are added. The marks are stored in the
// same change, so at any crash an edge is either not reported, or both gathered and marked.
func (n *Notifier) store(ctx context.Context) error {
	n.mu.Lock()
	changed := n.gathering.dirty
	n.gathering.dirty = false
	var open []Delivery
	for _, g := range n.gathering.groups {
		if n.write(g) {
			changed, open = true, append(open, g.stored...)
		}
	}
	marks := maps.Clone(n.gathering.marks)
	n.mu.Unlock()
	if !changed {
		return nil
	}
	data, err := json.Marshal(storedMarks{marksVersion, marks})
	if err != nil {
		return fmt.Errorf("encode what was told: %w", err)
	}
	n.opts.Store.Keep(open, marksKey, data)
	if err = n.opts.Store.Sync(ctx); err != nil {
		n.mu.Lock()
		n.gathering.dirty = true // until it is on disk
		n.mu.Unlock()
	}
	return err
}

// write creates the deliveries of a group that has changed, for the channels that want it now, and for
// those that did before: hand drops those without a channel. The caller holds n.mu.
func (n *Notifier) write(g *group) (changed bool) {
	for _, name := range n.active.wanting(g.Event) {
		if !slices.Contains(g.channels, name) {
			g.channels, g.dirty = append(g.channels, name), true
		}
	}
	if !g.dirty {
		return false
	}
	payload, err := json.Marshal(n.compose(g))
	if err != nil {
		n.log.Error("notice cannot be encoded and is lost", "notice", g.ID, "event", g.Event, "err", err)
		g.channels = nil
	}
	g.stored, g.dirty = nil, false
	for _, name := range g.channels {
		g.stored = append(g.stored, Delivery{ID: g.ID, Channel: name, Payload: payload, At: g.At, NextAt: g.due})
	}
	return true
}

func (n *Notifier) compose(g *group) Notice { return compose(g, n.opts.Host, n.opts.Agents) }

// release passes complete notices to their channels, once they are durable.
func (n *Notifier) release(ctx context.Context) error {
	n.mu.Lock()
	complete := n.gathering.complete(n.now())
	n.mu.Unlock()
	if err := n.store(ctx); err != nil {
		return err
	}
	n.mu.Lock()
	n.gathering.groups = slices.DeleteFunc(n.gathering.groups, func(g *group) bool { return slices.Contains(complete, g) })
	n.mu.Unlock()
	for _, g := range complete {
		// Other hosts see the limits of a shared account, too.
		if (g.Event == Limited || g.Event == Usage) && n.opts.Share != nil && len(g.stored) > 0 && n.opts.Share(ctx, n.compose(g)) {
			n.end(ctx, g.stored, Shared)
		} else {
			n.hand(ctx, g.stored)
		}
	}
	return nil
}

// maxHanded bounds the size of handed.
const maxHanded = 10_000

// hand passes deliveries to the senders of their channels, each once. Before Run it does nothing: they
// are in the outbox.
func (n *Notifier) hand(ctx context.Context, deliveries []Delivery) {
	n.mu.Lock()
	senders := n.senders
	var fresh []Delivery
	for _, d := range deliveries {
		key := d.ID + " " + d.Channel
		if senders == nil || n.handed[key] {
			continue
		}
		if len(n.handed) >= maxHanded {
			clear(n.handed)
		}
		n.handed[key] = true
		fresh = append(fresh, d)
	}
	n.mu.Unlock()
	for _, d := range fresh {
		if s := senders[d.Channel]; s != nil {
			s.push(d)
		} else {
			n.discard(ctx, []Delivery{d})
		}
	}
}

// discard ends deliveries of a channel that was removed.
func (n *Notifier) discard(ctx context.Context, gone []Delivery) {
	if len(gone) > 0 {
		n.log.Warn("notices dropped with their channel, which is not configured any more", "channel", gone[0].Channel, "notices", len(gone))
		n.end(ctx, gone, Removed)
	}
}

// end ends deliveries that this host does not send.
func (n *Notifier) end(ctx context.Context, deliveries []Delivery, outcome Outcome) {
	for _, d := range deliveries {
		if err := n.opts.Store.Done(ctx, d.ID, d.Channel, string(outcome)); err != nil {
			n.log.Error("end of a delivery cannot be stored", "channel", d.Channel, "notice", d.ID, "err", err)
		}
		n.opts.Count(d.Channel, outcome)
	}
}
