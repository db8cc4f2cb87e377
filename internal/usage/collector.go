package usage

import (
	"context"
	"sync"
	"time"

	"resumed/internal/resume"
	"resumed/internal/wake"
)

// Collector reads how much of their allowances the accounts have used, from the files of the agents of
// sessions that moved. It asks no provider.
type Collector struct {
	opts   CollectorOptions
	meters *Meters

	mu    sync.Mutex
	moved map[resume.AccountKey]resume.Session // for each account, the session that moved last since the last reading
	some  wake.Signal                          // there is one
}

// CollectorOptions are what a Collector works with. All are required.
type CollectorOptions struct {
	Store interface {
		Value(key string) ([]byte, bool)
		PutValue(key string, value []byte)
	}
	Read    func(context.Context, resume.Session) ([]Reading, error) // reads what the agent of a session recorded
	Report  func(resume.AccountKey, Window)                          // much of a window is used
	Changed func()                                                   // the windows of an account have changed
}

const metersKey = "usage/meters"

const collectEvery = time.Minute

// NewCollector returns a collector with the meters that were stored.
func NewCollector(opts CollectorOptions) *Collector {
	stored, _ := opts.Store.Value(metersKey)
	return &Collector{
		opts: opts, meters: NewMeters(stored),
		moved: make(map[resume.AccountKey]resume.Session), some: wake.NewSignal(),
	}
}

// Observe stores which session moved. It does not block.
func (c *Collector) Observe(change resume.Change) {
	switch change.Event.(type) {
	case resume.Progressed, resume.Limited:
	default:
		return
	}
	if change.After.Paid != nil {
		return // it uses its user's own key, not the account's allowance
	}
	c.mu.Lock()
	c.moved[change.After.AccountKey()] = change.After
	c.mu.Unlock()
	c.some.Send()
}

// Run reads whenever a session moved, until ctx is done.
func (c *Collector) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.some:
		}
		c.readMoved(ctx)
		if !wake.Sleep(ctx, collectEvery) {
			return nil
		}
	}
}

func (c *Collector) readMoved(ctx context.Context) {
	c.mu.Lock()
	moved := c.moved
	c.moved = make(map[resume.AccountKey]resume.Session)
	c.mu.Unlock()
	for account, s := range moved {
		// A file that cannot be read now is read when the session moves again.
		if readings, err := c.opts.Read(ctx, s); err == nil {
			c.Add(account, readings)
		}
	}
}

// Add stores readings of an account, and reports the windows that have passed a mark.
func (c *Collector) Add(account resume.AccountKey, readings []Reading) {
	now := time.Now()
	if !c.meters.Add(account.String(), now, readings...) {
		return
	}
	for _, w := range c.meters.Crossed(account.String(), now) {
		c.opts.Report(account, w)
	}
	if data, err := c.meters.Keep(now); err == nil {
		c.opts.Store.PutValue(metersKey, data)
	}
	c.opts.Changed()
}

// Windows returns the windows of an account that are not over, the short ones first.
func (c *Collector) Windows(account resume.AccountKey) []Window {
	return c.meters.Windows(account.String(), time.Now())
}
