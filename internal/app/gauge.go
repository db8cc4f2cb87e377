package app

import (
	"context"
	"sync"
	"time"

	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/state"
	"resumed/internal/usage"
)

// gauge keeps how much of their allowances the accounts have used: it looks at what the
// agent of a session wrote that moved, and asks no provider.
type gauge struct {
	settings *inForce
	store    *state.Store
	notifier *notify.Notifier
	meters   *usage.Meters
	changed  func() // says that an account stands otherwise

	mu    sync.Mutex
	moved map[resume.AccountKey]resume.Session // the last session of each that moved since it was looked
	wake  chan struct{}
}

// gaugeKey is where the readings are kept.
const gaugeKey = "usage/meters"

// gaugeEach is how often it looks at what is being used, at most.
const gaugeEach = time.Minute

func newGauge(settings *inForce, store *state.Store, notifier *notify.Notifier, changed func()) *gauge {
	kept, _ := store.Value(gaugeKey)
	return &gauge{
		settings: settings, store: store, notifier: notifier, meters: usage.NewMeters(kept), changed: changed,
		moved: make(map[resume.AccountKey]resume.Session), wake: make(chan struct{}, 1),
	}
}

// follow learns from a step of the engine, and blocks on nothing.
func (g *gauge) follow(c resume.Change) {
	switch c.Event.(type) {
	case resume.Progressed, resume.Limited:
	default:
		return
	}
	if c.After.Paid != nil {
		return // what it uses is not the account's
	}
	g.mu.Lock()
	g.moved[c.After.AccountKey()] = c.After
	g.mu.Unlock()
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// Run looks whenever something moved, until ctx is done.
func (g *gauge) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-g.wake:
		}
		g.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(gaugeEach):
		}
	}
}

func (g *gauge) look(ctx context.Context) {
	g.mu.Lock()
	moved := g.moved
	g.moved = make(map[resume.AccountKey]resume.Session)
	g.mu.Unlock()

	agents := g.settings.Load().agents
	for key, s := range moved {
		if a := agents[s.Key.Agent]; a != nil { // else it is switched off
			// A file that cannot be read says nothing; the next may.
			if readings, err := a.Readings(ctx, s); err == nil {
				g.take(key, readings)
			}
		}
	}
}

// take keeps what an account was told, and tells people at the marks.
func (g *gauge) take(account resume.AccountKey, readings []usage.Reading) {
	now := time.Now()
	if !g.meters.Add(account.String(), now, readings...) {
		return
	}
	for _, w := range g.meters.Crossed(account.String(), now) {
		g.notifier.TellUsage(account, w)
	}
	if data, err := g.meters.Keep(now); err == nil {
		g.store.PutValue(gaugeKey, data)
	}
	g.changed()
}
