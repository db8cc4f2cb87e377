// Package wake lets goroutines wait for work and for time.
package wake

import (
	"context"
	"time"
)

// Signal says that there is something to do. However often it is sent, it is received once.
type Signal chan struct{}

// NewSignal returns a signal that was not sent yet.
func NewSignal() Signal { return make(Signal, 1) }

// Send sends the signal. It never blocks.
func (s Signal) Send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Sleep waits for some time, and returns false if ctx is done before.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
