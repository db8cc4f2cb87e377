package fleet

import (
	"fmt"
	"math"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Account is the state of an account for all hosts. The zero value is closed. Every method returns the
// next state, and whether it differs: it counts once the store has accepted it at the revision at which
// this state was read. Times are the fleet's.
type Account struct {
	State     resume.Breaker `json:"state"`
	Epoch     uint64         `json:"epoch"`               // counts the refusals that opened it
	Class     limit.Class    `json:"class,omitempty"`     // of the last of them
	Reset     time.Time      `json:"reset,omitzero"`      // as stated; zero: not stated
	Exact     bool           `json:"exact,omitempty"`     // no margin has to be added
	LimitedAt time.Time      `json:"limited_at,omitzero"` // when it was refused
	By        string         `json:"by,omitempty"`        // the host that was refused
	Probe     *Probe         `json:"probe,omitempty"`     // the test whether the limit is over
	Ramp      *Ramp          `json:"ramp,omitempty"`      // how many sessions may start since the limit was over
	ClosedAt  time.Time      `json:"closed_at,omitzero"`  // when the limit was found to be over
}

// Probe is a session of one host that tests, alone, whether a limit is over.
type Probe struct {
	Host string    `json:"host"`
	Mark string    `json:"mark"` // unique to this probe
	At   time.Time `json:"at"`   // when it was allowed
}

// Ramp lets sessions start in steps: each step has twice as many as the one before.
type Ramp struct {
	From time.Time `json:"from"` // when the step began; it lasts for a stagger
	Size int       `json:"size"` // how many sessions may start in it
	Left int       `json:"left"` // how many of them have not started yet
}

const (
	// longestProbe bounds a probe: after that, a probe without a result no longer makes other hosts
	// wait.
	longestProbe = 30 * time.Minute

	// counted is the size of the largest step in which starts are counted.
	counted = 16

	// everybody is how many sessions may start if none has to wait for another.
	everybody = 1 << 20
)

// Rules are what this host's user wants.
type Rules struct {
	Margin  time.Duration // waited past a stated reset
	Stagger time.Duration // how long a step lasts; 0: no session waits for the start of another
	MaxWait time.Duration // a refusal of another host counts for this long; 0: no bound
}

// Refusal is the refusal of a session of one host.
type Refusal struct {
	At    time.Time
	Class limit.Class
	Reset time.Time // zero: not stated
	Exact bool
	Host  string
	Mark  string // of the probe that it ended, if any
}

// ReadAccount returns the account in an entry. A host may write wrong times, and the newest refusal
// wins: so no time may be later than the entry itself.
func ReadAccount(e Entry) (Account, error) {
	var a Account
	if err := Decode(e.Value, &a); err != nil {
		return Account{}, fmt.Errorf("read the state of an account: %w", err)
	}
	a.LimitedAt, a.ClosedAt = resume.Earlier(a.LimitedAt, e.At), resume.Earlier(a.ClosedAt, e.At)
	if a.By != "" && !GoodKey(a.By) {
		a.By = e.By
	}
	if a.Probe != nil && !GoodKey(a.Probe.Host) {
		a.Probe.Host = e.By
	}
	if a.Probe != nil {
		a.Probe.At = resume.Earlier(a.Probe.At, e.At)
	}
	if a.Ramp != nil {
		a.Ramp.From = resume.Earlier(a.Ramp.From, e.At)
		a.Ramp.Size = min(max(a.Ramp.Size, 1), counted)
		a.Ramp.Left = min(max(a.Ramp.Left, 0), a.Ramp.Size)
	}
	known := a.State == resume.Closed || a.State == resume.Open || a.State == resume.HalfOpen
	if (a.State == resume.HalfOpen) != (a.Probe != nil) || !known {
		a.State, a.Probe = resume.Open, nil // only another probe may end it
	}
	return a, nil
}

// Refused returns the account after a session was refused. It opens only for a new refusal: one since
// it was last closed, or one that is newer than the last and names another window.
func (a Account) Refused(r Refusal) (Account, bool) {
	switch {
	case a.ends(r.Mark):
	case a.limited():
		if !r.At.After(a.LimitedAt) || !a.another(r) {
			return a, false
		}
	case !r.At.After(a.ClosedAt):
		return a, false
	}
	return Account{
		State: resume.Open, Epoch: a.Epoch + 1, ClosedAt: a.ClosedAt,
		Class: r.Class, Reset: r.Reset, Exact: r.Exact, LimitedAt: r.At, By: r.Host,
	}, true
}

func (a Account) limited() bool { return a.State == resume.Open || a.State == resume.HalfOpen }

// another reports whether a refusal names another window than the account waits for. A refusal without
// a time does not replace one with a time.
func (a Account) another(r Refusal) bool {
	if r.Reset.IsZero() {
		return !a.Reset.IsZero() && a.Reset.Before(r.At) && a.State == resume.Open
	}
	return a.Reset.IsZero() || r.Reset.Sub(a.Reset).Abs() > resume.SameWindow
}

// ends reports whether the probe with that mark runs: only that one may write how it ended.
func (a Account) ends(mark string) bool {
	return a.State == resume.HalfOpen && mark != "" && a.Probe.Mark == mark
}

// Lifts returns when the limit is over, as stated; zero: not stated. The statement of another host is
// believed for at most MaxWait, like an own one.
func (a Account) Lifts(r Rules) time.Time {
	if !a.limited() || a.Reset.IsZero() {
		return time.Time{}
	}
	at := a.Reset
	if !a.Exact {
		at = at.Add(r.Margin)
	}
	if r.MaxWait > 0 {
		at = resume.Earlier(at, a.LimitedAt.Add(r.MaxWait))
	}
	return at
}

// Probed lets one host test, alone, whether the limit is over. Before the reset it needs early: a
// person asks for it, or the session waits for something else. If another host probes already, the
// caller must hold the lease: then the other host has lost it.
func (a Account) Probed(p Probe, early bool, r Rules) (Account, bool) {
	if !a.limited() || !early && p.At.Before(a.Lifts(r)) {
		return a, false
	}
	a.State, a.Probe = resume.HalfOpen, &p
	return a, true
}

// Moved returns the account after a session worked again: the session that probes, or another one after
// the limit should be over. Then sessions may start, in growing steps.
func (a Account) Moved(mark string, at, now time.Time, r Rules) (Account, bool) {
	free := a.State == resume.Open && at.After(a.LimitedAt) && !a.Lifts(r).After(at)
	if !a.ends(mark) && !free {
		return a, false
	}
	return a.closed(now, r), true
}

// Forgotten returns the account after a person has ordered to ignore its limit.
func (a Account) Forgotten(now time.Time) Account { return a.closed(now, Rules{}) }

func (a Account) closed(now time.Time, r Rules) Account {
	next := Account{State: resume.Closed, Epoch: a.Epoch, ClosedAt: now}
	if r.Stagger > 0 {
		next.Ramp = &Ramp{From: now, Size: 1, Left: 1}
	}
	return next
}

// Released returns the account after a probe ended without a result: the next one may start, at the
// same reset.
func (a Account) Released(mark string) (Account, bool) {
	if !a.ends(mark) {
		return a, false
	}
	a.State, a.Probe = resume.Open, nil
	return a, true
}

// Started permits starts if the account is closed: may of them, or everybody if no session has to wait.
// If the step is divided among the hosts, or used up, the next one begins at next. All hosts count the
// starts of small steps together. To count large steps would be one write per start: there each host
// gets its share of the step, and a fraction of a session by chance, with u in [0, 1). The steps end
// once more sessions may start than want to.
func (a Account) Started(r Rules, hosts int, u float64, now time.Time) (after Account, may int, changed bool, next time.Time) {
	if a.Ramp == nil || r.Stagger <= 0 {
		return a, everybody, false, time.Time{}
	}
	ramp := *a.Ramp
	steps := max(0, now.Sub(ramp.From)) / r.Stagger
	if steps >= 1 && 2*ramp.Left > ramp.Size {
		return a, everybody, false, time.Time{}
	}
	if steps >= 1 && 2*ramp.Size > counted {
		share := float64(ramp.Size) * math.Exp2(float64(steps)) / float64(hosts)
		if share >= everybody {
			return a, everybody, false, time.Time{}
		}
		whole, part := math.Modf(share)
		if may = int(whole); u < part {
			may++
		}
		return a, may, false, ramp.From.Add((steps + 1) * r.Stagger)
	}
	if steps >= 1 {
		ramp = Ramp{From: now, Size: 2 * ramp.Size, Left: 2 * ramp.Size}
	}
	if ramp.Left == 0 {
		return a, 0, false, ramp.From.Add(r.Stagger)
	}
	ramp.Left--
	a.Ramp = &ramp
	return a, 1, true, time.Time{}
}
