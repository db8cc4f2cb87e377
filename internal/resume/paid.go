package resume

import (
	"fmt"
	"time"

	"resumed/internal/limit"
)

// Cost is what a session has cost until now, as its agent counts it, at the prices of its
// provider's API. With a subscription nobody is asked for that sum.
type Cost struct {
	USD  float64       `json:"usd"`
	Work time.Duration `json:"work"` // how long the agent has worked for that
	Read int64         `json:"read"` // where in the transcript it stands
}

// AnHour returns what an hour of work has cost so far; 0: it is not known.
func (c Cost) AnHour() float64 {
	if c.Work < time.Second {
		return 0
	}
	return c.USD / c.Work.Hours()
}

// Priced is what a session has cost until now.
type Priced struct{ Cost Cost }

// Pay is a person who has a session go on with their own key, at their cost. It holds until
// the limit is over that stopped the session, and nothing but a person gives it.
type Pay struct{}

// Paid is a session that goes on like that.
type Paid struct {
	AskedAt time.Time `json:"asked_at"`
	Until   time.Time `json:"until"` // when the limit of its account is over

	// What stopped it: that is waited for again where the key does not help.
	Limit     limit.Verdict `json:"limit"`
	LimitText string        `json:"limit_text,omitempty"`
}

func (Priced) event() {}

func (Pay) event() {}

// ownKey stands for the provider in the account of a session that goes on with a key: what it
// meets there says nothing about its own account.
const ownKey = "your own key"

// Unpayable says why the session cannot go on with its user's own key; empty: it can, as far
// as the session itself goes.
func (s Session) Unpayable(now time.Time) string {
	switch {
	case s.State != Waiting && s.State != Parked && s.State != GaveUp || s.Pending():
		return "it is not stopped"
	case s.Limit.Class != limit.UsageLimit:
		return "only a session that a usage limit stopped can continue with your own key, and this one was stopped by " + describe(s.Limit, "")
	case !s.Limit.Reset.Stated():
		return "it is not known when its limit is over, and your own key would be used until then"
	case !s.Limit.Reset.At.After(now):
		return "its limit is over: it continues with its account"
	case s.Run != nil:
		return "the command of an earlier resume still runs"
	default:
		return ""
	}
}

// pay makes the session due now, with its user's own key.
func (s Session) pay(r Rules, now time.Time) Session {
	if s.Unpayable(now) != "" || r.Excluded(s.Cwd) != "" {
		return s
	}
	paid := &Paid{AskedAt: now, Until: s.Limit.Reset.At, Limit: s.Limit, LimitText: s.LimitText}
	s = s.retried("", r, now)
	s.Paid = paid
	s.Reason = fmt.Sprintf("due now, with your own key as you asked; from %s on with its account again", paid.Until.UTC().Format(time.RFC3339))
	return s
}

// overdrawn reports whether a refusal says that the key does not help any more than the
// account did: to try again later would only fail again.
func (s Session) overdrawn(ev Limited) bool {
	if s.Paid == nil || !ev.At.Before(s.Paid.Until) {
		return false
	}
	return ev.Class == limit.UsageLimit || ev.Class == limit.Auth || ev.Class == limit.Billing
}

// unpaid ends that the session goes on with a key: it waits for what it waited for before,
// and a person is told why.
func (s Session) unpaid(why string, r Rules, now time.Time) Session {
	paid := *s.Paid
	if len(s.Attempts) > 0 {
		s.Past = s.Attempts
	}
	if !s.Interrupted() {
		s.LimitedAt, s.StoppedAt = now, now
	}
	s.Paid, s.Attempts, s.RetryAskedAt, s.Hold, s.GivesUpAt = nil, nil, time.Time{}, time.Time{}, time.Time{}
	s.Limit, s.LimitText, s.WaitFrom = paid.Limit, paid.LimitText, now
	s = s.schedule(r, now)
	s.Reason, s.Told = join(why, s.Reason), true
	return s
}

// settled ends a payment whose time is over: what comes now is the account's again.
func (s Session) settled(at time.Time) Session {
	if s.Paid != nil && !at.Before(s.Paid.Until) {
		s.Paid = nil
	}
	return s
}
