package resume

import (
	"slices"
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

// AccountKey names a limit that several sessions share. One home of an agent is
// one account, and its name is a promise to other programs: AGENT:NAME. But a
// limit is a provider's, and some agents ask several of them from one home. So
// the provider stands beside the name and not in it: who looks an account up by
// its name finds it, and one provider's limit holds back nobody of another's.
type AccountKey struct{ Name, Provider string }

// String names the account for people.
func (k AccountKey) String() string {
	if k.Provider == "" {
		return k.Name
	}
	return k.Name + " (" + k.Provider + ")"
}

// AccountKey names the limit that the session shares with others.
func (s Session) AccountKey() AccountKey { return AccountKey{s.Account, s.Provider} }

// Account is how a limit stands that several sessions share.
type Account struct {
	AccountKey
	State    Breaker
	ResetAt  time.Time // zero: not stated
	Sessions int
}

// account is what the engine knows of one account. It needs no place on disk:
// the sessions that wait, or try, say all of it again after a restart.
type account struct {
	limitedAt time.Time // zero: closed
	reset     time.Time // as it was stated last; zero: it was not
	tries     []try     // the resumes that run or are settling
	last      start
	previous  start // the last one of another session
}

// start is when a session of an account was resumed, and which.
type start struct {
	at  time.Time
	key Key
}

// try is a start whose outcome is not known yet.
type try struct {
	start
	probe bool // it tells whether the limit is over
}

// shared reports whether a refusal of this class is the account's rather than
// the session's.
func shared(c limit.Class) bool { return c == limit.UsageLimit || c == limit.RateLimit }

// follow learns from one step of one of the account's sessions, and reports
// whether the account stands otherwise now.
func (a *account) follow(c Change) bool {
	state, reset, last := a.state(), a.reset, a.last
	a.learn(c)
	return a.state() != state || a.reset != reset || a.last != last
}

func (a *account) learn(c Change) {
	key := c.After.Key
	if c.Begun() != nil {
		a.begun(key, c.At)
	}
	switch ev := c.Event.(type) {
	case Limited:
		if c.After.State == Waiting && shared(ev.Class) {
			a.open(c.After)
		}
	case Progressed:
		a.moved(ev.At)
	case NotSent:
		if a.last.key == key && c.Before.Run != nil && c.After.Run == nil {
			a.last, a.previous = a.previous, start{} // nothing was sent: nobody need keep a distance from it
		}
	}
	// A probe that failed for a reason of its own says nothing about the
	// account: the next one may try.
	if c.After.State != Resuming && c.After.State != Settling {
		a.leave(key)
	}
}

// moved learns that one of the account's sessions moved.
func (a *account) moved(at time.Time) {
	if at.After(a.limitedAt) {
		a.limitedAt, a.reset = time.Time{}, time.Time{}
		for i := range a.tries {
			a.tries[i].probe = false
		}
	}
}

// begun learns that one of the account's sessions was resumed.
func (a *account) begun(key Key, at time.Time) {
	a.started(key, at)
	a.tries = append(a.tries, try{start: a.last})
	a.findProbes()
}

func (a *account) started(key Key, at time.Time) {
	if a.last.key != key {
		a.previous = a.last
	}
	a.last = start{at, key}
}

// open learns that one of the account's sessions waits for it. Who was told no
// time does not make forget what another one was told.
func (a *account) open(s Session) {
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
// limit may be read late, and a crash may leave several behind; and who is one
// stays it when others meet the same limit meanwhile.
func (a *account) findProbes() {
	for i, t := range a.tries {
		if !a.limitedAt.IsZero() && !t.at.Before(a.limitedAt) {
			a.tries[i].probe = true
		}
	}
}

// leave learns that a session does not try any longer, or not here.
func (a *account) leave(key Key) {
	a.tries = slices.DeleteFunc(a.tries, func(t try) bool { return t.key == key })
}

// probed reports whether a session other than the given one tries whether the
// limit is over.
func (a *account) probed(other Key) bool {
	return slices.ContainsFunc(a.tries, func(t try) bool { return t.probe && t.key != other })
}

// involves reports whether the session tries, or started last: the gate may be
// closed for all others because of it.
func (a *account) involves(key Key) bool {
	return a.last.key == key || slices.ContainsFunc(a.tries, func(t try) bool { return t.key == key })
}

// gate says why a session of the account may not start now, and when that may
// be another matter; zero: some other change will tell.
func (a *account) gate(key Key, rules Rules, now time.Time) (why string, until time.Time) {
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

// oneByOne names nobody: a reason that changed with whoever tries would be a step
// of all that wait, each time.
const oneByOne = "due, but sessions of its account start one after the other (resume.stagger), and after a limit the first one tries alone"

// knowsNoEnd reports whether the session waits for an allowance without having
// been told how long. A throttle or an overload is over sooner than that, and a
// person who asks for a try gets one.
func (s Session) knowsNoEnd() bool {
	return s.Limit.Class == limit.UsageLimit && !s.Limit.Reset.Stated() && s.RetryAskedAt.IsZero()
}

// awaitsEnd reports whether the session waits for an allowance of which it was
// told that it lifts after now.
func (s Session) awaitsEnd(now time.Time) bool {
	return s.State == Waiting && s.Limit.Class == limit.UsageLimit && s.Limit.Reset.At.After(now)
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
	return other.State == Waiting && other.Key != c.After.Key && other.AccountKey() == c.After.AccountKey() &&
		theirs.Stated() && theirs.At.Sub(c.Before.Limit.Reset.At).Abs() <= sameWindow
}

func (a *account) state() Breaker {
	switch there := a.probed(Key{}); {
	case a.limitedAt.IsZero():
		return Closed
	case there:
		return HalfOpen
	default:
		return Open
	}
}
