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
	// StoreOutbox puts deliveries into the outbox and a value under a key, if there is one, as one change: after
	// a crash either all of it is there or nothing. An existing delivery gets the new content, unless it
	// is done.
	StoreOutbox(open []Delivery, key string, value []byte)

	// Pending returns the deliveries that are not done, oldest first.
	Pending() []Delivery

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
		written, news := n.write(g)
		changed, open = changed || news, append(open, written...)
	}
	marks := maps.Clone(n.gathering.marks)
	n.mu.Unlock()
	if !changed {
		return nil
	}
	data, _ := json.Marshal(storedMarks{marksVersion, marks}) // texts and numbers: it does not fail
	n.opts.Store.StoreOutbox(open, marksKey, data)
	err := n.opts.Store.Sync(ctx)
	if err != nil {
		n.mu.Lock()
		n.gathering.dirty = true // until it is on disk
		n.mu.Unlock()
	}
	return err
}

// write returns the deliveries of a group that has changed, for the channels that want it now, and for
// those that did before. The caller holds n.mu.
func (n *Notifier) write(g *group) (open []Delivery, changed bool) {
	for _, name := range n.config.wanting(g.Event) {
		if !slices.Contains(g.channels, name) {
			g.channels, g.dirty = append(g.channels, name), true
		}
	}
	if !g.dirty {
		return nil, false
	}
	open, err := deliveries(n.compose(g), g.due, g.channels)
	if err != nil {
		n.log.Error("notice cannot be encoded and is lost", "notice", g.ID, "event", g.Event, "err", err)
		g.channels = nil
	}
	g.dirty = false
	return open, true
}

func deliveries(n Notice, due time.Time, channels []string) (open []Delivery, err error) {
	payload, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	for _, name := range channels {
		open = append(open, Delivery{ID: n.ID, Channel: name, Payload: payload, At: n.At, NextAt: due})
	}
	return open, nil
}

func (n *Notifier) compose(g *group) Notice { return compose(g, n.opts.Host, n.opts.Agents) }

// release leaves complete notices to their senders, once they are durable.
func (n *Notifier) release(ctx context.Context) error {
	n.mu.Lock()
	complete := n.gathering.complete(n.now())
	n.mu.Unlock()
	if err := n.store(ctx); err != nil {
		return err
	}
	for _, g := range complete {
		// Other hosts see the limits of a shared account, too.
		if (g.Event == Limited || g.Event == Usage) && n.opts.Share != nil && len(g.channels) > 0 && n.opts.Share(ctx, n.compose(g)) {
			for _, name := range g.channels {
				n.end(ctx, g.ID, name, Shared)
			}
		}
	}
	n.leave(complete...)
	return nil
}

// leave leaves notices in the outbox to the senders: they are durable and complete.
func (n *Notifier) leave(complete ...*group) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, g := range complete {
		delete(n.gathering.held, g.ID)
	}
	n.gathering.groups = slices.DeleteFunc(n.gathering.groups, func(g *group) bool { return !n.gathering.held[g.ID] })
	for _, s := range n.senders {
		s.kick.Send()
	}
}

// ready returns the deliveries that may be sent and fit. The caller holds n.mu, so that a notice that
// was just left to the senders is read with all its sessions.
func (n *Notifier) ready(fit func(Delivery) bool) []Delivery {
	return slices.DeleteFunc(n.opts.Store.Pending(), func(d Delivery) bool { return n.gathering.held[d.ID] || !fit(d) })
}

func (n *Notifier) dropOrphans(ctx context.Context) {
	dropped := make(map[string]int) // by channel
	n.mu.Lock()
	orphans := n.ready(func(d Delivery) bool {
		return n.senders[d.Channel] == nil && !slices.ContainsFunc(n.config.Channels, func(ch *Channel) bool { return ch.Name == d.Channel })
	})
	n.mu.Unlock()
	for _, d := range orphans {
		dropped[d.Channel]++
		n.end(ctx, d.ID, d.Channel, Removed)
	}
	for channel, notices := range dropped {
		n.log.Warn("notices dropped with their channel, which is not configured any more", "channel", channel, "notices", notices)
	}
}

// end ends a delivery. A stop does not prevent that. If the end cannot be stored now, the store does so
// later: the notice is never sent again for that reason.
func (n *Notifier) end(ctx context.Context, id, channel string, outcome Outcome) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := n.opts.Store.Done(ctx, id, channel, string(outcome)); err != nil {
		n.log.Error("end of a delivery cannot be stored", "channel", channel, "notice", id, "err", err)
	}
	n.opts.Count(channel, outcome)
}

// CanReport reports whether any channel here wants the events that one host reports for all.
func (n *Notifier) CanReport() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	wanted := func(event Event) bool { return len(n.config.wanting(event)) > 0 }
	return n.now().Sub(n.declined).Abs() >= declineFor && slices.ContainsFunc([]Event{Limited, Usage}, wanted)
}

// Wants reports whether any channel here wants an event.
func (n *Notifier) Wants(event Event) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.config.wanting(event)) > 0
}

// declineFor is how long a host leaves notices to others after it got one that none of its channels
// wants: the host that published it may have such a channel. It does so at most once per declineAgain:
// it has its own notices to send.
const (
	declineFor   = 2 * time.Minute
	declineAgain = 10 * time.Minute
)

// Accept accepts a notice that this host sends for all. It returns nil once the notice is durable.
func (n *Notifier) Accept(ctx context.Context, notice Notice) error {
	n.mu.Lock()
	channels := n.config.wanting(notice.Event)
	if len(channels) > 0 {
		n.gathering.held[notice.ID] = true
	} else if n.now().Sub(n.declined).Abs() >= declineAgain {
		n.declined = n.now()
	}
	n.mu.Unlock()
	if len(channels) == 0 {
		return fmt.Errorf("no channel here gets %s notices: another host sends it", notice.Event)
	}
	open, err := deliveries(notice, notice.At, channels)
	if err != nil {
		return err
	}
	n.opts.Store.StoreOutbox(open, "", nil)
	if err := n.opts.Store.Sync(ctx); err != nil {
		return err
	}
	n.leave(&group{Notice: notice})
	return nil
}
