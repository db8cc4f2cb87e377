package notify

import (
	"context"
	"time"
)

// Store keeps what is to be told over a crash. What a method has returned from
// without an error is durable. Methods are called from several goroutines.
type Store interface {
	// AddNotice adds one delivery to each channel, due at once. Adding an id
	// that is already there changes nothing.
	AddNotice(ctx context.Context, id string, channels []string, payload []byte, at time.Time) error

	// Pending returns the deliveries that are not done.
	Pending(ctx context.Context) ([]Delivery, error)

	// Tried records a try that did not deliver, and when the next one is due.
	Tried(id, channel string, tries int, nextAt time.Time, lastErr string) error

	// Done ends a delivery.
	Done(id, channel, outcome string) error

	// PutValue keeps one value under a key, all of it or nothing.
	PutValue(key string, value []byte) error

	// Value returns the value of a key, and whether there is one.
	Value(key string) ([]byte, bool, error)
}

// Delivery is one notice on its way to one channel.
type Delivery struct {
	ID      string
	Channel string
	Payload []byte
	At      time.Time // when the notice came to be
	Tries   int       // so far
	NextAt  time.Time // zero: due at once
	LastErr string
}
