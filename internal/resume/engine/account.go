package engine

import (
	"cmp"
	"slices"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// account is what the engine knows about one account. It is not stored: after a restart it is computed
// from the sessions.
type account struct {
	sessions, kept int // all, and how many of them are WorthKeeping

	limitedAt time.Time    // zero: no limit is known but those in windows
	refusedAt time.Time    // when it last refused a session for a cause that only a person can remove; zero: such a cause is not known
	reset     time.Time    // as last stated; zero: not stated
	movedAt   time.Time    // when one of its sessions last moved
	usage     resume.Usage // the latest usage of its allowances
	windows   windows
	tries     []try   // the resumes that run or are settling
	last      instant // when a session was last resumed, and which
	previous  instant // the last one of another session
}

type try struct {
	instant
	probe bool // it shows whether the limit is over
}

// shared reports whether a refusal of this class concerns the whole account and not only the session.
func shared(c limit.Class) bool { return limits(c) || c.Outage() }

// refuses reports whether a refusal of this class concerns the whole account, until a person has acted.
func refuses(c limit.Class) bool { return c == limit.Auth || c == limit.Billing }

func (a *account) count(s resume.Session, n int) {
	if s.IsPlaceholder() {
		return // not a session yet
	}
	if a.sessions += n; s.WorthKeeping() {
		a.kept += n
	}
}

// update changes the account after one step of one of its sessions, and reports whether the account has
// changed.
func (a *account) update(c resume.Change) bool {
	free, probed, reset, last, windows := a.limitedAt.IsZero(), a.probed(resume.Key{}), a.reset, a.last, len(a.windows.of)
	a.learn(c)
	return a.limitedAt.IsZero() != free || a.probed(resume.Key{}) != probed || a.reset != reset || a.last != last || len(a.windows.of) != windows
}

func (a *account) learn(c resume.Change) {
	key := c.After.Key
	a.windows.note(c.After)
	if c.ClaimedRun() != nil {
		a.begun(key, c.At)
	}
	switch ev := c.Event.(type) {
	case resume.Limited:
		if c.After.State == resume.Waiting && shared(ev.Class) {
			a.open(c.After)
		}
		a.note(c.After)
	case resume.Progressed:
		a.moved(resume.Earlier(ev.At, c.At)) // a record from a clock that is ahead must not end the limits that are met later
	case resume.Learned:
		if ev.Usage != nil {
			a.meter(c.After.Usage)
		}
	case resume.NotSent:
		if a.last.key == key && c.Before.Run != nil && c.After.Run == nil {
			a.last, a.previous = a.previous, instant{} // nothing was sent: the next session need not wait for it
		}
	}
	// A probe that failed for its own reason says nothing about the account: the next one may try.
	if c.After.State != resume.Resuming && c.After.State != resume.Settling {
		a.leave(key)
	}
}

// resetAt returns when the account is free again, as far as is known: the earliest end of a window in
// the future, otherwise the last stated reset.
func (a *account) resetAt(now time.Time) time.Time {
	if at := a.windows.opensAt(now); !at.IsZero() {
		return at
	}
	return a.reset
}

func (a *account) meter(u resume.Usage) {
	if u.At.After(a.usage.At) {
		a.usage = u
	}
}

func (a *account) moved(at time.Time) {
	a.movedAt = resume.Later(a.movedAt, at)
	if at.After(a.refusedAt) {
		a.refusedAt = time.Time{}
	}
	if at.After(a.limitedAt) {
		a.limitedAt, a.reset = time.Time{}, time.Time{}
	}
	if a.limitedAt.IsZero() && a.refusedAt.IsZero() {
		for i := range a.tries {
			a.tries[i].probe = false
		}
	}
}

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

// open handles that one of the account's sessions waits for its limit. A refusal without a time does
// not replace a time that was stated to another session.
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

// note handles that one of the account's sessions is stopped for a cause of the account that only a
// person can remove, or was until a person ordered the next try.
func (a *account) note(s resume.Session) {
	if s.Interrupted() && refuses(s.Limit.Class) {
		a.refusedAt = resume.Later(a.refusedAt, s.LimitedAt)
		a.findProbes()
	}
}

// findProbes turns all tries since the account was limited, or refused a session, into probes. A limit
// may be read late, and a crash may leave several tries; and a probe stays one if other sessions meet
// the same limit meanwhile.
func (a *account) findProbes() {
	since := func(at, began time.Time) bool { return !at.IsZero() && !began.Before(at) }
	for i, t := range a.tries {
		if since(a.limitedAt, t.at) || since(a.refusedAt, t.at) {
			a.tries[i].probe = true
		}
	}
}

func (a *account) leave(key resume.Key) {
	a.tries = slices.DeleteFunc(a.tries, func(t try) bool { return t.key == key })
}

// probed reports whether another session than the given one tries whether the limit is over.
func (a *account) probed(other resume.Key) bool {
	return slices.ContainsFunc(a.tries, func(t try) bool { return t.probe && t.key != other })
}

// involves reports whether the session tries, or started last: because of it the gate may be closed for
// all others, but not for the session itself.
func (a *account) involves(key resume.Key) bool {
	return a.last.key == key || slices.ContainsFunc(a.tries, func(t try) bool { return t.key == key })
}

// gate says why a session of the account may not start now, and until when; zero: not known.
func (a *account) gate(key resume.Key, rules resume.Rules, now time.Time) (why string, until time.Time) {
	before := a.last
	if before.key == key {
		before = a.previous
	}
	switch alone := a.alone(key, rules, now); {
	case alone != nil:
		return resume.OneByOne, alone.at.Add(probeTime(rules))
	case now.Sub(before.at) < rules.Stagger:
		return resume.OneByOne, before.at.Add(rules.Stagger)
	default:
		return "", time.Time{}
	}
}

// alone returns the last probe of another session than the given one, while the others wait for it; nil:
// they do not. A probe that neither moves nor ends within the time that a resume has to show movement
// says nothing about the account.
func (a *account) alone(other resume.Key, rules resume.Rules, now time.Time) (found *try) {
	for i, t := range a.tries {
		if t.probe && t.key != other && now.Sub(t.at) < probeTime(rules) && (found == nil || t.at.After(found.at)) {
			found = &a.tries[i]
		}
	}
	return found
}

// probeTime is how long a probe makes the other sessions of its account wait.
func probeTime(rules resume.Rules) time.Duration { return cmp.Or(rules.Settle, 2*time.Minute) }

// state returns the state of the account: it is not free while a window of one of its sessions has not
// ended.
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

// window is a limit that stopped a session, with the time at which it lifts as stated to that session.
// If another session moves, that does not disprove it: a limit may be for one model only.
type window struct {
	key             resume.Key
	statedAt, lifts time.Time
	limits          bool // an allowance is used up; otherwise it is an outage
}

type windows struct{ index[window] }

func newWindows() windows {
	return windows{newIndex(func(a, b window) int { return cmp.Or(a.lifts.Compare(b.lifts), compareKeys(a.key, b.key)) })}
}

func (w *windows) note(s resume.Session) {
	if !s.Interrupted() || !s.Limit.Reset.Stated() {
		w.drop(s.Key)
		return
	}
	now := window{s.Key, s.LimitedAt, s.Limit.Reset.At, limits(s.Limit.Class)}
	if w.of[s.Key] != now {
		w.set(s.Key, now)
	}
}

// opensAt returns the earliest end after now of a limit; zero: none.
func (w *windows) opensAt(now time.Time) time.Time { return w.bar(now, time.Time{}) }

// bar returns the earliest end after now that may apply to all sessions: none has moved since it was
// stated. Zero: none.
func (w *windows) bar(now, movedAt time.Time) time.Time {
	for one := range w.from(window{lifts: now.Add(1)}) {
		if one.limits && !movedAt.After(one.statedAt) {
			return one.lifts
		}
	}
	return time.Time{}
}

// around returns the sessions with a window that ends close to that time.
func (w *windows) around(end time.Time, near time.Duration) (keys []resume.Key) {
	for one := range w.from(window{lifts: end.Add(-near)}) {
		if one.lifts.Sub(end) > near {
			break
		}
		keys = append(keys, one.key)
	}
	return keys
}

// limits reports whether a refusal of this class says that an allowance is used up.
func limits(c limit.Class) bool { return c == limit.UsageLimit || c == limit.RateLimit }
