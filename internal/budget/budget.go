// Package budget has the limits for runs that use the user's own key, and what is left of them.
package budget

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"resumed/internal/lazy"
)

// Terms are the user's limits. All sums are in US dollars, which the agents count in.
type Terms struct {
	Session float64 // for one session in a period
	Total   float64 // for all sessions in a period
	Each    Period  // the length of a period
}

// Period is a calendar day or month in local time.
type Period string

// The periods.
const (
	Day   Period = "day"
	Month Period = "month"
)

// Example is a budget as in the configuration.
const Example = "5 USD a session, 20 USD a month"

var written = lazy.Regexp(`(?i)^\s*(\d{1,6}(?:\.\d{1,2})?)\s*USD\s+a\s+session\s*,\s*(\d{1,6}(?:\.\d{1,2})?)\s*USD\s+a\s+(day|month)\s*$`)

// Parse parses a budget from the configuration.
func Parse(text string) (Terms, error) {
	found := written().FindStringSubmatch(text)
	if found == nil {
		return Terms{}, fmt.Errorf("must say what one session and what all of them may cost, such as %q (or a day)", Example)
	}
	session, _ := strconv.ParseFloat(found[1], 64) // the pattern allows only numbers
	total, _ := strconv.ParseFloat(found[2], 64)
	t := Terms{Session: session, Total: total, Each: Month}
	if found[3][0] == 'd' || found[3][0] == 'D' {
		t.Each = Day
	}
	if t.Session < least || t.Total < t.Session {
		return Terms{}, fmt.Errorf("must allow one session a cent at least, and all of them together no less than one, such as %q", Example)
	}
	return t, nil
}

// String writes the terms as in the configuration.
func (t Terms) String() string {
	return fmt.Sprintf("%s a session, %s a %s", USD(t.Session), USD(t.Total), t.Each)
}

func (t Terms) begins(now time.Time) time.Time {
	year, month, day := now.Date()
	if t.Each == Month {
		day = 1
	}
	return time.Date(year, month, day, 0, 0, 0, 0, now.Location())
}

// least is the smallest sum with which a run may begin.
const least = 0.01

// USD writes a sum for people.
func USD(sum float64) string {
	if sum == float64(int64(sum)) {
		return fmt.Sprintf("%d USD", int64(sum))
	}
	return fmt.Sprintf("%.2f USD", sum)
}

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

// Remaining is what may still be spent in this period.
type Remaining struct {
	Session float64 // by this session
	Total   float64 // by all sessions
}

// Max returns what the next run may cost, in whole cents; 0: no run may begin.
func (l Remaining) Max() float64 {
	return math.Floor(min(l.Session, l.Total)/least+rounding) * least
}

// rounding is the possible error of sums of cents.
const rounding = 1e-6

// Commit sets what the run has cost. Only the first call counts.
func (e *Entry) Commit(spent float64) {
	if !e.Settled {
		e.Spent, e.Settled = max(0, spent), true
	}
}

// Ledger is the cost of all runs.
type Ledger []Entry

// oldest is how long an entry is stored: longer than a period.
const oldest = 62 * 24 * time.Hour

// Forget drops old entries.
func (l *Ledger) Forget(now time.Time) {
	*l = slices.DeleteFunc(*l, func(e Entry) bool { return now.Sub(e.At) > oldest })
}

// Remaining returns what a session of an agent may still spend.
func (l Ledger) Remaining(t Terms, agent, session string, now time.Time) Remaining {
	left, since := Remaining{t.Session, t.Total}, t.begins(now)
	for _, e := range l {
		if e.Agent != agent || e.At.Before(since) {
			continue
		}
		if left.Total -= e.counts(); e.Session == session {
			left.Session -= e.counts()
		}
	}
	return Remaining{max(0, left.Session), max(0, left.Total)}
}

// Reserve reserves what a run may cost, or reports that not enough is left.
func (l *Ledger) Reserve(t Terms, e Entry) bool {
	if e.Most < least-rounding || e.Most > l.Remaining(t, e.Agent, e.Session, e.At).Max()+rounding {
		return false
	}
	*l = append(*l, e)
	return true
}

// Find returns the run with that mark; nil: there is none.
func (l Ledger) Find(mark string) *Entry {
	if i := slices.IndexFunc(l, func(e Entry) bool { return e.Mark == mark }); i >= 0 {
		return &l[i]
	}
	return nil
}

// Drop removes a run that never began.
func (l *Ledger) Drop(mark string) {
	*l = slices.DeleteFunc(*l, func(e Entry) bool { return e.Mark == mark })
}
