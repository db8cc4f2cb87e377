package notify

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Tells reports whether any channel here wants the events that hosts share.
func (n *Notifier) Tells() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	wanted := func(event Event) bool { return len(n.config.wanting(event)) > 0 }
	return n.now().Sub(n.declined).Abs() >= declineFor && slices.ContainsFunc([]Event{Limited, Usage, HostGone}, wanted)
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
	n.opts.Store.Keep(open, "", nil)
	if err := n.opts.Store.Sync(ctx); err != nil {
		return err
	}
	n.leave(&group{Notice: notice})
	return nil
}
