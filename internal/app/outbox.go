package app

import (
	"context"

	"resumed/internal/notify"
	"resumed/internal/state"
)

// outbox stores the notifier's notices in the daemon's state.
type outbox struct{ *state.Store }

// Sync names no session: a notice is sent whatever the state of one may be.
func (o outbox) Sync(ctx context.Context) error { return o.Store.Sync(ctx) }

// Keep converts the notifier's deliveries to the store's, which have the same fields.
func (o outbox) Keep(open []notify.Delivery, key string, value []byte) {
	kept := make([]state.Delivery, len(open))
	for i, d := range open {
		kept[i] = state.Delivery(d)
	}
	o.Store.Keep(kept, key, value)
}

func (o outbox) Pending() []notify.Delivery {
	var pending []notify.Delivery
	for _, d := range o.Store.Pending() {
		pending = append(pending, notify.Delivery(d))
	}
	return pending
}
