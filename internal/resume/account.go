package resume

import (
	"fmt"
	"time"

	"resumed/internal/limit"
)

// Breaker is how an account stands.
type Breaker string

// The states of an account's breaker.
const (
	Closed   Breaker = "closed"    // nothing is limited
	Open     Breaker = "open"      // limited: nobody is resumed before the reset
	HalfOpen Breaker = "half_open" // one session tries, alone
)

// Account is a limit that several sessions share.
type Account struct {
	Name     string
	State    Breaker
	ResetAt  time.Time // zero: not stated
	Sessions int
}

// account is what the engine knows of one account. It needs no place on disk:
// the sessions that wait say all of it again after a restart.
type account struct {
	limitedAt time.Time // zero: closed
	reset     time.Time // as it was stated last; zero: it was not
	probe     Key       // who tries alone
	probing   bool
	last      start
	previous  start // what last was before it
}

// start is when a session of an account was resumed, and which.
type start struct {
	at  time.Time
	key Key
}

// shared reports whether a refusal of this class is the account's rather than
// the session's.
func shared(c limit.Class) bool { return c == limit.UsageLimit || c == limit.RateLimit }

// follow learns from one step of one of the account's sessions, and reports
// whether the account stands otherwise now.
func (a *account) follow(c Change) bool {
	before := *a
	a.learn(c)
	return *a != before
}

func (a *account) learn(c Change) {
	key := c.After.Key
	if run := c.Begun(); run != nil {
		a.previous, a.last = a.last, start{c.At, key}
		if !a.limitedAt.IsZero() {
			a.probe, a.probing = key, true
		}
	}
	switch ev := c.Event.(type) {
	case Limited:
		if c.After.State == Waiting && shared(ev.Class) {
			a.open(c.After)
		}
	case Progressed:
		if ev.At.After(a.limitedAt) {
			*a = account{last: a.last, previous: a.previous}
		}
	case Held:
		if a.last.key == key {
			a.last = a.previous // nothing was sent: nobody need keep a distance from it
		}
	}
	// A probe that failed for a reason of its own says nothing about the
	// account: the next one may try.
	if a.probing && a.probe == key && c.After.State != Resuming && c.After.State != Settling {
		a.probing = false
	}
}

// open learns that one of the account's sessions waits for it.
func (a *account) open(s Session) {
	if !s.LimitedAt.Before(a.limitedAt) {
		a.limitedAt, a.reset = s.LimitedAt, s.Limit.Reset.At
	}
}

// gate says why a session of the account may not start now, and when that may
// be another matter; zero: some other change will tell.
func (a *account) gate(key Key, rules Rules, now time.Time) (why string, until time.Time) {
	switch {
	case a.probing && a.probe != key:
		return fmt.Sprintf("due, but session %s of its account tries first, alone", a.probe.ID), time.Time{}
	case a.last.key != key && now.Sub(a.last.at) < rules.Stagger:
		return "due, but sessions of one account start one after the other (resume.stagger)", a.last.at.Add(rules.Stagger)
	default:
		return "", time.Time{}
	}
}

// sameWindow is how far apart two statements of one reset may lie: agents
// print it to the minute, and compute it from an age.
const sameWindow = 2 * time.Minute

// movesReset reports whether a session that was resumed after a reset was told
// another one: then it is another one for all that wait for the same.
func (c Change) movesReset() bool {
	ev, ok := c.Event.(Limited)
	tried := c.Before.State == Resuming || c.Before.State == Settling
	return ok && tried && shared(ev.Class) && ev.Reset.At.After(c.At) && c.Before.Limit.Reset.Stated()
}

// postpones reports whether a step that moves a reset moves it for the other
// session too.
func (c Change) postpones(other Session) bool {
	theirs := other.Limit.Reset
	return other.State == Waiting && other.Key != c.After.Key && other.Account == c.After.Account &&
		theirs.Stated() && theirs.At.Sub(c.Before.Limit.Reset.At).Abs() <= sameWindow
}

func (a *account) state() Breaker {
	switch {
	case a.limitedAt.IsZero():
		return Closed
	case a.probing:
		return HalfOpen
	default:
		return Open
	}
}
