package notify

import (
	"context"
	"time"
)

// Store keeps what is to be told over a crash. Changes reach the disk in the
// order they were made, or not at all. Methods are called from several
// goroutines.
type Store interface {
	// AddNotice adds one delivery to each channel, due at once, and returns
	// nil once they are on disk. What was added before is not added again.
	AddNotice(ctx context.Context, id string, channels []string, payload []byte, at time.Time) error

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
	ID      string
	Channel string
	Payload []byte
	At      time.Time // when the notice came to be
	Tries   int       // so far
	NextAt  time.Time // zero: due at once
	LastErr string
}
