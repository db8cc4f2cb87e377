package engine

import (
	"slices"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// account is what the engine knows of one account. It needs no place on disk:
// the sessions that wait, or try, say all of it again after a restart.
type account struct {
	sessions, kept int // how many there are, and how many of them are worth keeping

	limitedAt time.Time    // zero: nothing is known to be refused but what windows say
	reset     time.Time    // as it was stated last; zero: it was not
	movedAt   time.Time    // when one of its sessions last moved
	usage     resume.Usage // what was told last of its allowances
	windows   windows
	tries     []try   // the resumes that run or are settling
	last      instant // when a session was last resumed, and which
	previous  instant // the last one of another session
}

// try is a resume whose outcome is not known yet.
type try struct {
	instant
	probe bool // it tells whether the limit is over
}

// shared reports whether a refusal of this class is the account's rather than
// the session's.
func shared(c limit.Class) bool { return limits(c) || c.Outage() }

func newAccount() *account { return &account{windows: newWindows()} }

// count learns that there is one more session like this, or one less.
func (a *account) count(s resume.Session, n int) {
	if s.IsPlaceholder() {
		return // it is none
	}
	if a.sessions += n; s.WorthKeeping() {
		a.kept += n
	}
}

// follow learns from one step of one of the account's sessions, and reports
// whether the account has changed.
func (a *account) follow(c resume.Change) bool {
	free, probed, reset, last, windows := a.limitedAt.IsZero(), a.probed(resume.Key{}), a.reset, a.last, len(a.windows.of)
	a.learn(c)
	return a.limitedAt.IsZero() != free || a.probed(resume.Key{}) != probed || a.reset != reset || a.last != last || len(a.windows.of) != windows
}

func (a *account) learn(c resume.Change) {
	key := c.After.Key
	a.windows.note(c.After)
	if c.Begun() != nil {
		a.begun(key, c.At)
	}
	switch ev := c.Event.(type) {
	case resume.Limited:
		if c.After.State == resume.Waiting && shared(ev.Class) {
			a.open(c.After)
		}
	case resume.Progressed:
		a.moved(ev.At)
	case resume.Learned:
		if ev.Usage != nil {
			a.meter(*ev.Usage)
		}
	case resume.NotSent:
		if a.last.key == key && c.Before.Run != nil && c.After.Run == nil {
			a.last, a.previous = a.previous, instant{} // nothing was sent: the next one need not wait for it
		}
	}
	// A probe that failed for a reason of its own says nothing about the
	// account: the next one may try.
	if c.After.State != resume.Resuming && c.After.State != resume.Settling {
		a.leave(key)
	}
}

// resetAt returns when the account is free again, as far as is known: the earliest
// end of what lies ahead, else what was stated last.
func (a *account) resetAt(now time.Time) time.Time {
	if at := a.windows.opensAt(now); !at.IsZero() {
		return at
	}
	return a.reset
}

// meter learns how much of the allowances is used.
func (a *account) meter(u resume.Usage) {
	if u.At.After(a.usage.At) {
		a.usage = u
	}
}

// moved learns that one of the account's sessions moved.
func (a *account) moved(at time.Time) {
	a.movedAt = later(a.movedAt, at)
	if at.After(a.limitedAt) {
		a.limitedAt, a.reset = time.Time{}, time.Time{}
		for i := range a.tries {
			a.tries[i].probe = false
		}
	}
}

// begun learns that one of the account's sessions was resumed.
func (a *account) begun(key resume.Key, at time.Time) {
	a.started(key, at)
	a.tries = append(a.tries, try{instant: a.last})
	a.findProbes()
}

func (a *account) started(key resume.Key, at time.Time) {
	if a.last.key != key {
		a.previous = a.last
	}
	a.last = instant{at, key}
}

// open learns that one of the account's sessions waits for it. A refusal without a time
// does not replace a time that another session was told.
func (a *account) open(s resume.Session) {
	if s.LimitedAt.Before(a.limitedAt) {
		return
	}
	a.limitedAt = s.LimitedAt
	if reset := s.Limit.Reset; reset.Stated() || a.reset.Before(s.LimitedAt) {
		a.reset = reset.At
	}
	a.findProbes()
}

// findProbes makes probes of those that try since the account was limited. A
// limit may be read late, and a crash may leave several behind; and a probe
// stays one when others meet the same limit meanwhile.
func (a *account) findProbes() {
	for i, t := range a.tries {
		if !a.limitedAt.IsZero() && !t.at.Before(a.limitedAt) {
			a.tries[i].probe = true
		}
	}
}

// leave learns that a session does not try any longer.
func (a *account) leave(key resume.Key) {
	a.tries = slices.DeleteFunc(a.tries, func(t try) bool { return t.key == key })
}

// probed reports whether a session other than the given one tries whether the
// limit is over.
func (a *account) probed(other resume.Key) bool {
	return slices.ContainsFunc(a.tries, func(t try) bool { return t.probe && t.key != other })
}

// involved returns the sessions that try, and the one that started last: the gate may
// be closed for all others because of them.
func (a *account) involved() []resume.Key {
	keys := []resume.Key{a.last.key}
	for _, t := range a.tries {
		keys = append(keys, t.key)
	}
	return keys
}

func (a *account) involves(key resume.Key) bool { return slices.Contains(a.involved(), key) }

// gate says why a session of the account may not start now, and when that may
// be another matter; zero: some other change will tell.
func (a *account) gate(key resume.Key, rules resume.Rules, now time.Time) (why string, until time.Time) {
	before := a.last
	if before.key == key {
		before = a.previous
	}
	switch {
	case a.probed(key):
		return oneByOne, time.Time{}
	case now.Sub(before.at) < rules.Stagger:
		return oneByOne, before.at.Add(rules.Stagger)
	default:
		return "", time.Time{}
	}
}

// The reason does not name the session that tries: each change would rewrite the reasons of all others.
const oneByOne = "due, but sessions of its account start one after the other (resume.stagger), and after a limit the first one tries alone"

// movesReset reports whether a session that was resumed after a reset was told
// another one: then it is another one for all that wait for the same.
func movesReset(c resume.Change) bool {
	ev, ok := c.Event.(resume.Limited)
	tried := c.Before.State == resume.Resuming || c.Before.State == resume.Settling
	return ok && tried && shared(ev.Class) && ev.Reset.At.After(c.At) && c.Before.Limit.Reset.Stated()
}

// postpones reports whether a step that moves a reset moves it for the other
// session too.
func postpones(c resume.Change, other resume.Session) bool {
	theirs := other.Limit.Reset
	return other.State == resume.Waiting && other.Key != c.After.Key && other.AccountKey() == c.After.AccountKey() &&
		theirs.Stated() && theirs.At.Sub(c.Before.Limit.Reset.At).Abs() <= resume.SameWindow
}

// state returns the state of the account: it is not free while a window of one of its
// sessions lies ahead.
func (a *account) state(now time.Time) resume.Breaker {
	switch ahead := !a.windows.opensAt(now).IsZero(); {
	case a.limitedAt.IsZero() && !ahead:
		return resume.Closed
	case !a.limitedAt.IsZero() && a.probed(resume.Key{}):
		return resume.HalfOpen
	default:
		return resume.Open
	}
}
