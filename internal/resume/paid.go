package resume

import (
	"fmt"
	"time"

	"resumed/internal/limit"
)

// ownKey is the provider in the account of a session that continues with a key: what it
// meets there says nothing about its own account.
const ownKey = "your own key"

// Unpayable says why the session cannot continue with its user's own key; empty: it can, as far
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

// keyRefused reports whether a refusal says that the key does not help any more than the
// account did: to try again later would only fail again.
func (s Session) keyRefused(ev Limited) bool {
	if s.Paid == nil || !ev.At.Before(s.Paid.Until) {
		return false
	}
	return ev.Class == limit.UsageLimit || ev.Class == limit.Auth || ev.Class == limit.Billing
}

// withoutExpiredPayment ends a payment whose time is over: what comes now is the account's again.
func (s Session) withoutExpiredPayment(at time.Time) Session {
	if s.Paid != nil && !at.Before(s.Paid.Until) {
		s.Paid = nil
	}
	return s
}
