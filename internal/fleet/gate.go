package fleet

import (
	"fmt"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// account is what this host knows about a shared account, and what it wants from it.
type account struct {
	last stored // as last read

	older      stored    // read since then, with an earlier revision; rev 0: none
	olderSince time.Time // when it was first read

	known Account // with what happened on this host since

	asked time.Time // when a session was last due
	early bool      // a session that need not wait for the reset asked
	tryAt time.Time // the store need not be asked before; zero: now

	slots      int       // sessions that may start, or everybody,
	slotsUntil time.Time // until then
	step       time.Time // the end of the step that the slots are a share of; zero: none
	probe      *probing  // this host probes, or has permission to

	refused *localRefusal // not written to the store yet
	moved   time.Time     // when a session moved, not written to the store yet, by this host's clock; zero: none

	delay    time.Duration // how long a start is delayed if this host is alone,
	delayFor time.Time     // counted from there
}

type probing struct {
	Probe
	lease   lease
	granted time.Time // when permission was given, by this host's clock; zero: not yet
	key     resume.Key
	begun   time.Time // when that session was started; zero: not yet
	outcome outcome
}

type outcome string

const (
	running  outcome = ""
	moved    outcome = "moved"
	refused  outcome = "refused"
	released outcome = "released"
)

// askAgain is when a session that is held back asks again. If no session has asked for longer,
// permission is no longer requested.
const askAgain = 20 * time.Second

// Ask returns why a session that is due may not start now, and when to ask again; "": it may. It is the
// last check of the engine: a session that the gate lets through is started.
func (f *Fleet) Ask(s resume.Session, now time.Time) (why string, until time.Time) {
	id := f.opts.Account(s)
	if id == "" {
		return "", time.Time{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	a, rules := f.account(id), f.opts.Rules()
	lifts := a.known.Lifts(rules)
	early := f.clock.fleet(now).Before(lifts)
	standing := f.standing(now)
	if early && (s.WaitsForFleet(lifts, f.clock.fleet(now)) || standing.Alone && s.RetryAskedAt.IsZero()) { // alone, a host cannot get permission to probe before the reset
		return fmt.Sprintf("limited until %s, as host %s was told of its account", lifts.UTC().Format(time.RFC3339), a.known.By), f.clock.local(lifts)
	}
	if standing.Alone {
		return f.alone(a, early, standing, rules, now)
	}
	if a.passes(s.Key, early, now, f.pace.goodFor()) {
		return "", time.Time{}
	}
	if a.asked.Add(askAgain).Before(now) || early && !a.early {
		a.tryAt = time.Time{}
	}
	a.asked, a.early = now, early
	if !a.tryAt.After(now) {
		f.kick.Send()
	}
	return inTurn, now.Add(askAgain)
}

const inTurn = "the hosts of the fleet start sessions of its account in turn, and after a limit one of them tries alone"

// alone is Ask if the store does not answer: starts wait for the last known reset, and are delayed so
// that hosts which are alone do not all start in the same second.
func (f *Fleet) alone(a *account, early bool, standing Status, rules Rules, now time.Time) (string, time.Time) {
	if early {
		return "", time.Time{} // a person wants it now
	}
	from := resume.Later(standing.Since, f.clock.local(a.known.Lifts(rules)))
	if !from.Equal(a.delayFor) {
		a.delayFor, a.delay = from, time.Duration(f.opts.Rand()*float64(rules.Stagger)*float64(standing.Hosts))
	}
	if at := from.Add(a.delay); now.Before(at) {
		return "this host is alone (" + standing.Why + "), and others may be: it goes on a little later", at
	}
	return "", time.Time{}
}

// passes uses a permission of this host, if there is one.
func (a *account) passes(key resume.Key, early bool, now time.Time, goodFor time.Duration) bool {
	good := func(until time.Time, most time.Duration) bool { return now.Before(until) && until.Sub(now) <= most }
	switch {
	case early && (a.probe == nil || !a.early):
		return false
	case a.probe != nil && a.probe.begun.IsZero() && !a.probe.granted.IsZero() && good(a.probe.granted.Add(goodFor), goodFor):
		a.probe.key, a.probe.begun = key, now
		return true
	case a.slots == 0 || !good(a.slotsUntil, slotFor):
		return false
	case a.slots < everybody:
		if a.slots--; a.slots == 0 { // no other session has asked yet: an unused permission would be missing for other hosts
			a.asked, a.tryAt = time.Time{}, time.Time{}
		}
	}
	return true
}

func (f *Fleet) account(id string) *account {
	a := f.accounts[id]
	if a == nil {
		a = &account{}
		f.accounts[id] = a
	}
	return a
}

// Restore is called with the sessions of an earlier daemon: other hosts may not know about their
// refusals.
func (f *Fleet) Restore(sessions []*resume.Session) {
	for _, s := range sessions {
		if id := f.opts.Account(*s); id != "" && s.State == resume.Waiting && s.Limit.Class.Allowance() {
			f.mu.Lock()
			f.refuse(f.account(id), *s, "")
			f.mu.Unlock()
		}
	}
}

// Changed is called for every change of every session. Other hosts wait for no outage: it concerns the
// provider or this host.
func (f *Fleet) Changed(c resume.Change) {
	limited, stopped := c.Event.(resume.Limited)
	stopped = stopped && c.After.State == resume.Waiting && limited.Class.Allowance()
	progressed, went := c.Event.(resume.Progressed)
	id := ""
	if stopped || went {
		id = f.opts.Account(c.After)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	mark := ""
	if p := f.probeOf(c.After.Key); p != nil {
		mark = p.Mark
		switch tries := c.After.State == resume.Resuming || c.After.State == resume.Settling; {
		case stopped:
			p.outcome = refused
		case went && !progressed.At.Before(p.begun):
			p.outcome = moved
		case !tries:
			p.outcome = released
		}
		f.kick.Send()
	}
	switch {
	case id == "":
	case stopped:
		f.refuse(f.account(id), c.After, mark)
		f.kick.Send()
	case went:
		f.move(f.account(id), progressed.At)
	}
}

// probeOf returns the probe that the session runs, if it has no result yet.
func (f *Fleet) probeOf(key resume.Key) *probing {
	for _, a := range f.accounts {
		if p := a.probe; p != nil && p.key == key && !p.begun.IsZero() && p.outcome == running {
			return p
		}
	}
	return nil
}

// localRefusal is a refusal in this host's time: its clock may not have been compared yet.
type localRefusal struct {
	Refusal
	counted bool // the reset is in this host's time too
}

func (c clock) refusal(t localRefusal) Refusal {
	t.At = c.fleet(t.At)
	if t.counted {
		t.Reset = c.fleet(t.Reset)
	}
	return t.Refusal
}

// refuse stores that a session was refused. It counts on this host at once.
func (f *Fleet) refuse(a *account, s resume.Session, mark string) {
	reset := s.Limit.Reset
	t := localRefusal{Refusal{
		At: resume.Earlier(s.LimitedAt, f.now()), Class: s.Limit.Class, Reset: reset.At,
		Exact: !reset.Rough && s.Limit.Class != limit.UsageLimit, Host: f.opts.Host, Mark: mark,
	}, reset.Counted}
	if _, changed := a.known.Refused(f.clock.refusal(t)); !changed && mark == "" {
		return
	}
	if a.refused == nil || a.refused.At.Before(t.At) {
		a.refused = &t
	}
	f.derive(a)
	a.slotsUntil, a.tryAt = time.Time{}, time.Time{}
}

func (f *Fleet) move(a *account, at time.Time) {
	at = resume.Earlier(at, f.now())
	if _, changed := a.known.Moved("", f.clock.fleet(at), f.clock.fleet(at), f.opts.Rules()); changed {
		a.moved, a.tryAt = at, time.Time{}
		f.derive(a)
		f.kick.Send()
	}
}

// derive computes the state of an account as this host knows it. It is called again after each
// comparison of the clock.
func (f *Fleet) derive(a *account) {
	now, r, at, rules := a.last.Account, a.refused, f.clock.fleet(a.moved), f.opts.Rules()
	lifts := a.known.Lifts(rules)
	if r == nil || a.moved.Before(r.At) {
		now, _ = now.Moved("", at, at, rules)
	}
	if r != nil {
		now, _ = now.Refused(f.clock.refusal(*r))
	}
	if r != nil && !a.moved.Before(r.At) {
		now, _ = now.Moved("", at, at, rules)
	}
	a.known = now
	if now.Lifts(rules).Before(lifts) { // sessions may wait for the old time and do not ask before
		f.lifted = true
		f.kick.Send()
	}
}
