// Package ownkey stores what runs with the user's own keys have cost, and computes what they may still
// cost.
package ownkey

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"resumed/internal/agents"
	"resumed/internal/budget"
	"resumed/internal/config"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Options configure a Budget. All are required.
type Options struct {
	Config func() config.Config // the current one
	Store  interface {
		Value(key string) ([]byte, bool)
		PutValue(key string, value []byte)
	}
	Changed func()
	Log     *slog.Logger
}

// Budget is what runs with the user's own keys may cost.
type Budget struct {
	opts   Options
	broken error // the stored ledger cannot be read: what was spent is not known

	mu     sync.Mutex
	ledger budget.Ledger
}

// ledgerKey is the name of the stored ledger. It has sums, and no key.
const ledgerKey = "own_key/ledger"

// New returns the budget as it was stored.
func New(opts Options) *Budget {
	b := &Budget{opts: opts}
	if stored, known := opts.Store.Value(ledgerKey); known {
		b.broken = json.Unmarshal(stored, &b.ledger)
	}
	return b
}

// terms returns the user's limits for sessions of an agent; false: not allowed.
func (b *Budget) terms(agent string) (budget.Terms, bool) {
	entry := b.opts.Config().Agent(agent)
	if entry.OwnKeyFile == "" || !entry.Enabled {
		return budget.Terms{}, false
	}
	terms, err := budget.Parse(entry.Budget)
	return terms, err == nil // otherwise the configuration was refused
}

// Offers reports whether sessions of the agent may continue with the user's own key.
func (b *Budget) Offers(agent string) bool {
	_, ok := b.terms(agent)
	return ok
}

// Remaining returns what a run of the session may cost now, or why none may begin.
func (b *Budget) Remaining(s resume.Session) (most float64, why string) {
	if most, why = b.left(s); why != "" {
		return 0, why
	}
	if err := b.opts.Config().Agent(s.Key.Agent).CheckOwnKey(); err != nil {
		return 0, err.Error()
	}
	return most, ""
}

// left is Left without reading a file.
func (b *Budget) left(s resume.Session) (most float64, why string) {
	terms, ok := b.terms(s.Key.Agent)
	switch {
	case !ok:
		return 0, "own_key_file is not set for " + s.Key.Agent
	case b.broken != nil:
		return 0, "cannot read what was spent before: " + b.broken.Error()
	}
	b.mu.Lock()
	left := b.ledger.Remaining(terms, s.Key.Agent, s.Key.ID, time.Now())
	b.mu.Unlock()
	if most = left.Max(); most > 0 {
		return most, ""
	}
	return 0, usedUp(terms, left)
}

func usedUp(terms budget.Terms, left budget.Remaining) string {
	if left.Total < left.Session {
		return fmt.Sprintf("the budget is used up or set aside for a run (%s a %s for all sessions)", budget.USD(terms.Total), terms.Each)
	}
	return fmt.Sprintf("the budget is used up (%s for a session in a %s)", budget.USD(terms.Session), terms.Each)
}

// Reserve reserves what a run may cost, or says why not.
func (b *Budget) Reserve(s resume.Session, mark string, most float64, had resume.Cost) (why string) {
	terms, ok := b.terms(s.Key.Agent)
	entry := budget.Entry{
		Mark: mark, Agent: s.Key.Agent, Session: s.Key.ID, At: time.Now().Round(0), Most: most, Before: had.USD, Read: had.Read,
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !ok || !b.ledger.Reserve(terms, entry) {
		return "the budget does not have that much left"
	}
	b.store()
	b.opts.Log.Info("goes on with your own key", "session", s.Key.ID, "agent", s.Key.Agent, "most_usd", most)
	return ""
}

// Commit stores what a run has cost. It says if the run was stopped because it reached its limit.
func (b *Budget) Commit(s resume.Session, mark string, has resume.Cost, known, failed bool) (why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	entry := b.ledger.Find(mark)
	if entry == nil {
		return ""
	}
	defer b.store()
	log := b.opts.Log.With("session", s.Key.ID, "agent", s.Key.Agent)
	if !known || has.Read <= entry.Read {
		log.Warn("the cost of a run with your own key is not known: all that it was allowed to cost counts as spent", "usd", entry.Most)
		entry.Commit(entry.Most)
		return ""
	}
	spent := max(0, has.USD-entry.Before)
	log.Info("a run with your own key is over", "usd", fmt.Sprintf("%.4f", spent))
	entry.Commit(spent)
	if failed && spent >= entry.Most {
		return fmt.Sprintf("your own key is no longer used: the run has cost %s, all that it was allowed to", budget.USD(entry.Most))
	}
	return ""
}

// Cancel releases what was reserved for a run that never began.
func (b *Budget) Cancel(mark string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ledger.Find(mark) != nil {
		b.ledger.Drop(mark)
		b.store()
	}
}

// Key returns the environment variable for the key, and the key.
func (b *Budget) Key(agent string) (variable, key string, err error) {
	now := b.opts.Config()
	for _, known := range agents.Builtin() {
		if known.Name == agent && known.OwnKey != "" {
			secret, err := now.Agent(agent).OwnKey(now.Resume.Trust())
			return known.OwnKey, string(secret), err
		}
	}
	return "", "", errors.New(agent + " takes no key")
}

// store is called with mu locked.
func (b *Budget) store() {
	b.ledger.Forget(time.Now())
	data, err := json.Marshal(b.ledger)
	if err != nil {
		b.opts.Log.Error("the cost of your own key could not be saved", "err", err)
		return
	}
	b.opts.Store.PutValue(ledgerKey, data)
	b.opts.Changed()
}

// Offer returns how a session continues with its user's own key, or could; nil: neither. It reads no
// file.
func (b *Budget) Offer(s resume.Session, now time.Time) *view.OwnKey {
	terms, ok := b.terms(s.Key.Agent)
	if !ok || s.Paid == nil && s.WhyNotOwnKey(now) != "" {
		return nil
	}
	most, why := b.left(s)
	v := &view.OwnKey{Active: s.Paid != nil, Until: new(s.Limit.Reset.At.UTC()), Budget: terms.String(), Left: most, Instead: why}
	if s.Cost.Read > 0 {
		v.Cost = new(s.Cost.USD)
		if rate := s.Cost.AnHour(); rate > 0 {
			v.AnHour = &rate
		}
	}
	switch {
	case s.Paid != nil:
		v.Until, v.Instead = new(s.Paid.Until.UTC()), ""
	case why == "":
		v.Command = "resumed retry " + view.Of(s, 0).Typed() + " --own-key"
	}
	return v
}
