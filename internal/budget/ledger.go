package budget

import (
	"encoding/json"
	"math"
	"slices"
	"sync"
	"time"
)

// Entry is one run with the user's own key. The most it may cost is reserved before it begins, and
// counts as spent until the real cost is known: if it is never known, all of it counts.
type Entry struct {
	Mark    string    `json:"mark"` // of the resume
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	At      time.Time `json:"at"`
	Most    float64   `json:"most"` // the reserved sum

	// Before is what the session had cost before the run, and Read the position in the transcript up to
	// which that was read: a cost is new only if it is read after that.
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
	Session float64 `json:"session"` // by this session
	Total   float64 `json:"total"`   // by all sessions
}

// Most returns what the next run may cost, in whole cents; 0: no run may begin.
func (l Left) Most() float64 {
	return math.Floor(min(l.Session, l.Total)/least+rounding) * least
}

// rounding is the possible error of sums of cents.
const rounding = 1e-6

// Ledger is the cost of all runs. It is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	entries []Entry
}

// NewLedger loads a stored ledger. If it returns an error, what was spent is not known.
func NewLedger(kept []byte) (*Ledger, error) {
	l := new(Ledger)
	if len(kept) == 0 {
		return l, nil
	}
	return l, json.Unmarshal(kept, &l.entries)
}

// oldest is how long an entry is stored: longer than a period.
const oldest = 62 * 24 * time.Hour

// Keep returns the ledger for storage, without old entries.
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

// SetAside reserves what a run may cost, or reports that not enough is left.
func (l *Ledger) SetAside(t Terms, e Entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Most < least-rounding || e.Most > l.left(t, e.Agent, e.Session, e.At).Most()+rounding {
		return false
	}
	l.entries = append(l.entries, e)
	return true
}

// Find returns the run with that mark.
func (l *Ledger) Find(mark string) (Entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.index(mark); i >= 0 {
		return l.entries[i], true
	}
	return Entry{}, false
}

// Settle sets what a run has cost.
func (l *Ledger) Settle(mark string, spent float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.index(mark); i >= 0 && !l.entries[i].Settled {
		l.entries[i].Spent, l.entries[i].Settled = max(0, spent), true
	}
}

// Drop removes a run that never began.
func (l *Ledger) Drop(mark string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = slices.DeleteFunc(l.entries, func(e Entry) bool { return e.Mark == mark })
}

func (l *Ledger) index(mark string) int {
	return slices.IndexFunc(l.entries, func(e Entry) bool { return e.Mark == mark })
}
