// Package outbox has the type in which the notifier passes its notices to the store.
package outbox

import "time"

// Delivery is one notice that must still be delivered by one channel.
type Delivery struct {
	ID      string // of the notice
	Channel string
	Payload []byte    // the notice, as JSON
	At      time.Time // when the notice was made
	Tries   int       // so far
	NextAt  time.Time // zero: due now
	LastErr string    // of the last try; empty before the first
}
