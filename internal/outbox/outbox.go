// Package outbox is the form in which the notifier gives its notices to the store.
package outbox

import "time"

// Delivery is one notice that is still to be delivered by one channel.
type Delivery struct {
	ID      string // of the notice
	Channel string
	Payload []byte    // the notice, as JSON
	At      time.Time // when the notice came to be
	Tries   int       // so far
	NextAt  time.Time // zero: due at once
	LastErr string    // of the last try; empty before the first
}
