package backend

import (
	"context"
	"sync/atomic"
)

// pauseSwitch pauses the daemon as a whole, and keeps the engine and the stored state consistent.
type pauseSwitch struct {
	engine interface {
		SetPaused(ctx context.Context, paused bool) error
	}
	store  interface{ SetPaused(paused bool) }
	turn   chan struct{} // of size 1: a lock; a context can cancel the wait for it
	paused atomic.Bool
}

// set pauses or unpauses. Concurrent orders are carried out one after the other, so that the stored
// state is the last one that the engine got.
func (p *pauseSwitch) set(ctx context.Context, paused bool) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := p.engine.SetPaused(ctx, paused); err != nil {
		return err
	}
	p.paused.Store(paused)
	p.store.SetPaused(paused)
	return nil
}
