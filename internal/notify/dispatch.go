package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"resumed/internal/resume"
)

// save makes the ledger durable.
func (n *Notifier) save(ctx context.Context) error {
	n.mu.Lock()
	if !n.ledger.dirty {
		n.mu.Unlock()
		return nil
	}
	n.ledger.dirty = false
	snapshot := n.ledger.copy()
	n.mu.Unlock()

	data, err := snapshot.encode()
	if err == nil {
		n.opts.Store.PutValue(ledgerKey, data)
		err = n.opts.Store.Sync(ctx)
	}
	if err != nil {
		n.mu.Lock()
		n.ledger.dirty = true
		n.mu.Unlock()
	}
	return err
}

// dispatch moves complete groups from the ledger to the outbox, in an order
// that a crash can cut anywhere: the group's final content is durable, then it
// is in the outbox, then it is out of the ledger, and only then may a channel
// see it. A group in both places is added again, which changes nothing, for
// none of its deliveries can have ended.
func (n *Notifier) dispatch(ctx context.Context) error {
	n.mu.Lock()
	complete := n.ledger.complete(time.Now())
	n.mu.Unlock()
	if err := n.save(ctx); err != nil {
		return err
	}
	if len(complete) == 0 {
		return nil
	}
	for _, g := range complete {
		if err := n.add(ctx, g); err != nil {
			return err
		}
	}
	n.mu.Lock()
	n.ledger.drop(complete)
	n.mu.Unlock()
	if err := n.save(ctx); err != nil {
		n.mu.Lock() // it must leave the ledger for good before it is sent
		n.ledger.groups = append(n.ledger.groups, complete...)
		n.mu.Unlock()
		return err
	}
	for _, g := range complete {
		for _, name := range g.channels {
			n.hand(ctx, Delivery{ID: g.ID, Channel: name, Payload: g.payload, At: g.At})
		}
	}
	return nil
}

// hand gives a delivery to its channel's sender. Before the senders are there it
// does nothing: the outbox is read when they are.
func (n *Notifier) hand(ctx context.Context, d Delivery) {
	n.mu.Lock()
	senders := n.senders
	n.mu.Unlock()
	if senders == nil {
		return
	}
	if s := senders[d.Channel]; s != nil {
		s.push(d)
		return
	}
	n.discard(ctx, d.Channel, []Delivery{d})
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

// arrange makes the senders fit the configuration. Only Run changes the map, and
// it makes a new one: whoever reads the old one reads it in peace.
func (n *Notifier) arrange(ctx context.Context, running *sync.WaitGroup) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.active = n.config
	senders := make(map[string]*sender, len(n.active.Channels))
	for _, ch := range n.active.Channels {
		s := n.senders[ch.Name()]
		if s == nil {
			s = newSender(n, ch)
			running.Go(func() { s.run(ctx) })
		}
		s.use(ch)
		senders[ch.Name()] = s
	}
	for name, s := range n.senders {
		if senders[name] == nil {
			s.remove()
		}
	}
	n.senders = senders
}

// add puts one group into the outbox.
func (n *Notifier) add(ctx context.Context, g *group) error {
	if g.added {
		return nil
	}
	g.channels = n.active.wanting(g.Event)
	if len(g.channels) > 0 {
		payload, err := json.Marshal(compose(g, n.opts.Host, n.opts.Zone, n.opts.Agents))
		if err != nil {
			return fmt.Errorf("encode notice: %w", err)
		}
		if err := n.opts.Store.AddNotice(ctx, g.ID, g.channels, payload, g.At); err != nil {
			return fmt.Errorf("add notice to outbox: %w", err)
		}
		g.payload = payload
	}
	g.added = true
	return nil
}

// compose makes the notice of a complete group.
func compose(g *group, host string, zone *time.Location, agents Titles) Notice {
	notice := Notice{
		Version:  Version,
		ID:       g.ID,
		Event:    g.Event,
		At:       g.At,
		Host:     host,
		Account:  g.Account,
		Provider: g.Provider,
		Sessions: make([]resume.View, 0, len(g.Members)),
		Omitted:  g.Total - len(g.Members),
	}
	for _, m := range g.Members {
		notice.Sessions = append(notice.Sessions, m.View)
	}
	say(&notice, g, zone, agents)
	return notice
}
