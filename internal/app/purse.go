package app

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"resumed/internal/agents"
	"resumed/internal/budget"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/state"
)

// purse keeps what the runs have cost that had their user's own key, and what they still may.
type purse struct {
	settings *inForce
	store    *state.Store
	ledger   *budget.Ledger
	broken   error // what was kept cannot be read: nobody knows what was spent
	changed  func()
	log      *slog.Logger
}

// purseKey is where the ledger is kept. It holds sums, and no key.
const purseKey = "own_key/ledger"

func newPurse(settings *inForce, store *state.Store, changed func(), log *slog.Logger) *purse {
	kept, _ := store.Value(purseKey)
	ledger, err := budget.NewLedger(kept)
	return &purse{settings: settings, store: store, ledger: ledger, broken: err, changed: changed, log: log}
}

// terms returns what the user allows for sessions of an agent; false: nothing.
func (s *settings) terms(agent string) (budget.Terms, bool) {
	entry := s.config.Agent(agent)
	if entry.OwnKeyFile == "" || !entry.Enabled {
		return budget.Terms{}, false
	}
	terms, err := budget.Parse(entry.Budget)
	return terms, err == nil // else the configuration was refused
}

// Offers reports whether the user may have sessions of the agent go on with their own key.
func (p *purse) Offers(agent string) bool {
	_, ok := p.settings.Load().terms(agent)
	return ok
}

// Left returns what a run of the session may cost now, or why none may begin.
func (p *purse) Left(s resume.Session) (most float64, why string) {
	if most, why = p.left(s); why != "" {
		return 0, why
	}
	if err := p.settings.Load().config.Agent(s.Key.Agent).CheckOwnKey(); err != nil {
		return 0, err.Error()
	}
	return most, ""
}

// left is Left by what is known, without a look at any file.
func (p *purse) left(s resume.Session) (most float64, why string) {
	terms, ok := p.settings.Load().terms(s.Key.Agent)
	switch {
	case !ok:
		return 0, "own_key_file is not set for " + s.Key.Agent
	case p.broken != nil:
		return 0, "cannot read what was spent before: " + p.broken.Error()
	}
	left := p.ledger.Left(terms, s.Key.Agent, s.Key.ID, time.Now())
	if most = left.Most(); most > 0 {
		return most, ""
	}
	return 0, usedUp(terms, left)
}

// usedUp says which part of a budget is used up.
func usedUp(terms budget.Terms, left budget.Left) string {
	if left.Total < left.Session {
		return fmt.Sprintf("the budget is used up or set aside for a run (%s a %s for all sessions)", budget.USD(terms.Total), terms.Each)
	}
	return fmt.Sprintf("the budget is used up (%s for a session in a %s)", budget.USD(terms.Session), terms.Each)
}

// SetAside takes what a run may cost out of what is left.
func (p *purse) SetAside(s resume.Session, mark string, most float64, had resume.Cost) (why string) {
	terms, ok := p.settings.Load().terms(s.Key.Agent)
	entry := budget.Entry{
		Mark: mark, Agent: s.Key.Agent, Session: s.Key.ID, At: time.Now().Round(0), Most: most, Before: had.USD, Read: had.Read,
	}
	if !ok || !p.ledger.SetAside(terms, entry) {
		return "the budget does not have that much left"
	}
	p.keep()
	p.log.Info("goes on with your own key", "session", s.Key.ID, "agent", s.Key.Agent, "most_usd", most)
	return ""
}

// Settle notes what a run has cost, and says that it was stopped by what it might cost.
func (p *purse) Settle(s resume.Session, mark string, has resume.Cost, known, failed bool) (why string) {
	entry, found := p.ledger.Find(mark)
	if !found {
		return ""
	}
	log := p.log.With("session", s.Key.ID, "agent", s.Key.Agent)
	if !known || has.Read <= entry.Read {
		log.Warn("the cost of a run with your own key is not known: all that it was allowed to cost counts as spent", "usd", entry.Most)
		p.ledger.Settle(mark, entry.Most)
		p.keep()
		return ""
	}
	spent := max(0, has.USD-entry.Before)
	log.Info("a run with your own key is over", "usd", fmt.Sprintf("%.4f", spent))
	p.ledger.Settle(mark, spent)
	p.keep()
	if failed && spent >= entry.Most {
		return fmt.Sprintf("your own key is no longer used: the run has cost %s, all that it was allowed to", budget.USD(entry.Most))
	}
	return ""
}

// Return gives back what was set aside for a run that never began.
func (p *purse) Return(mark string) {
	if _, found := p.ledger.Find(mark); found {
		p.ledger.Drop(mark)
		p.keep()
	}
}

// Key returns the variable that holds the key, and the key.
func (p *purse) Key(agent string) (variable, key string, err error) {
	now := p.settings.Load()
	for _, b := range agents.Builtin() {
		if b.Name == agent && b.OwnKey != "" {
			secret, err := now.config.Agent(agent).OwnKey(now.config.Resume.Trust())
			return b.OwnKey, string(secret), err
		}
	}
	return "", "", errors.New(agent + " takes no key")
}

func (p *purse) keep() {
	data, err := p.ledger.Keep(time.Now())
	if err != nil {
		p.log.Error("the cost of your own key could not be saved", "err", err)
		return
	}
	p.store.PutValue(purseKey, data)
	p.changed()
}

// offer shows how a session goes on with its user's own key, or could; nil: it does not
// concern it. It looks at nothing but what is known.
func (p *purse) offer(s resume.Session, now time.Time) *view.OwnKey {
	terms, ok := p.settings.Load().terms(s.Key.Agent)
	if !ok || s.Paid == nil && s.Unpayable(now) != "" {
		return nil
	}
	most, why := p.left(s)
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
