package budget

import (
	"encoding/json"
	"math"
	"slices"
	"sync"
	"time"
)

// Entry is one run at its user's cost. What it may cost is set aside before it begins,
// and counts as spent until it is known what it did cost: a run of which nobody ever
// learns that has cost all of it.
type Entry struct {
	Mark    string    `json:"mark"` // of the resume
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	At      time.Time `json:"at"`
	Most    float64   `json:"most"` // set aside

	// Before is what the session had cost by then, and Read is where that was read:
	// what is read later and elsewhere is news.
	Before float64 `json:"before"`
	Read   int64   `json:"read"`

	Spent   float64 `json:"spent"`
	Settled bool    `json:"settled"` // Spent is known
}

func (e Entry) counts() float64 {
	if e.Settled {
		return e.Spent
	}
	return e.Most
}

// Left is what may still be spent in this period.
type Left struct {
	Session float64 `json:"session"` // by that session,
	Total   float64 `json:"total"`   // and by all
}

// Most returns what the next run may cost, in whole cents; 0: none may begin.
func (l Left) Most() float64 {
	return math.Floor(min(l.Session, l.Total)/least+rounding) * least
}

// rounding is what sums of cents may be off by.
const rounding = 1e-6

// Ledger is what runs have cost. Its methods may be called by anybody.
type Ledger struct {
	mu      sync.Mutex
	entries []Entry
}

// NewLedger returns the ledger that was kept. The error says that it cannot be read: then
// nobody knows what was spent.
func NewLedger(kept []byte) (*Ledger, error) {
	l := new(Ledger)
	if len(kept) == 0 {
		return l, nil
	}
	return l, json.Unmarshal(kept, &l.entries)
}

// oldest is how long an entry is kept: longer than a period lasts.
const oldest = 62 * 24 * time.Hour

// Keep returns what is to be kept of it.
func (l *Ledger) Keep(now time.Time) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = slices.DeleteFunc(l.entries, func(e Entry) bool { return now.Sub(e.At) > oldest })
	return json.Marshal(l.entries)
}

// Left returns what a session of an agent may still spend.
func (l *Ledger) Left(t Terms, agent, session string, now time.Time) Left {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left(t, agent, session, now)
}

func (l *Ledger) left(t Terms, agent, session string, now time.Time) Left {
	left, since := Left{t.Session, t.Total}, t.begins(now)
	for _, e := range l.entries {
		if e.Agent != agent || e.At.Before(since) {
			continue
		}
		if left.Total -= e.counts(); e.Session == session {
			left.Session -= e.counts()
		}
	}
	return Left{max(0, left.Session), max(0, left.Total)}
}

// SetAside takes what a run may cost out of what is left, or reports that so much is
// not there.
func (l *Ledger) SetAside(t Terms, e Entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Most < least-rounding || e.Most > l.left(t, e.Agent, e.Session, e.At).Most()+rounding {
		return false
	}
	l.entries = append(l.entries, e)
	return true
}

// Find returns the run of that mark.
func (l *Ledger) Find(mark string) (Entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.index(mark); i >= 0 {
		return l.entries[i], true
	}
	return Entry{}, false
}

// Settle notes what a run has cost.
func (l *Ledger) Settle(mark string, spent float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.index(mark); i >= 0 && !l.entries[i].Settled {
		l.entries[i].Spent, l.entries[i].Settled = max(0, spent), true
	}
}

// Drop forgets a run that never began.
func (l *Ledger) Drop(mark string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = slices.DeleteFunc(l.entries, func(e Entry) bool { return e.Mark == mark })
}

func (l *Ledger) index(mark string) int {
	return slices.IndexFunc(l.entries, func(e Entry) bool { return e.Mark == mark })
}
