package resume

import (
	"time"

	"resumed/internal/limit"
)

// Breaker is the state of an account.
type Breaker string

// The states of an account's breaker.
const (
	Closed   Breaker = "closed"    // nothing is limited
	Open     Breaker = "open"      // limited: no session is resumed before the reset
	HalfOpen Breaker = "half_open" // one session tries, alone
)

// AccountKey names a limit that several sessions share. One home of an agent is
// one account, and its name is a promise to other programs: AGENT:NAME. But a
// limit is a provider's, and some agents ask several of them from one home. So
// the provider is beside the name and not in it: a program that looks an account up by
// its name finds it, and one provider's limit holds back no session of another's.
type AccountKey struct{ Name, Provider string }

// String names the account for people.
func (k AccountKey) String() string {
	if k.Provider == "" {
		return k.Name
	}
	return k.Name + " (" + k.Provider + ")"
}

// AccountKey names the limit that the session shares with others. One that continues with a
// key shares none: that it moves does not mean that the limit of its account is over.
func (s Session) AccountKey() AccountKey {
	if s.Paid != nil {
		return AccountKey{s.Account, ownKey}
	}
	return AccountKey{s.Account, s.Provider}
}

// Account is the state of a limit that several sessions share.
type Account struct {
	AccountKey
	State    Breaker
	ResetAt  time.Time // zero: not stated
	Sessions int
	Kept     int       // how many of them are worth keeping
	MovedAt  time.Time // when one of them last moved; zero: not known
}

// near is how far away a window may end for which a session is held back that waits
// for something else. One of days may be of a model that the session does not use.
const near = 6 * time.Hour

// SharedLimit is whether a session that is due waits for a window of its account that
// was stated to another session.
type SharedLimit uint8

const (
	ignored       SharedLimit = iota // a time was stated to the session itself, or a person asked for a try
	awaited                          // it would only meet the limit
	awaitedIfNear                    // if it does not end too far away
)

// SharedLimit says whether the session waits for a window that was stated to another session.
func (s Session) SharedLimit() SharedLimit {
	switch {
	case !s.RetryAskedAt.IsZero():
		return ignored
	case s.Pending():
		return awaited // it is begun when there is room
	case s.Limit.Class == limit.UsageLimit && !s.Limit.Reset.Stated():
		return awaited
	case s.Limit.Class == limit.UsageLimit, s.Limit.Class == limit.RateLimit && s.Limit.Reset.Stated():
		return ignored
	default:
		return awaitedIfNear
	}
}

// HoldsBack reports whether a window that ends then holds the session back.
func (l SharedLimit) HoldsBack(ends, now time.Time) bool {
	return !ends.IsZero() && (l == awaited || l == awaitedIfNear && ends.Sub(now) <= near)
}

// WaitsForFleet reports whether the session waits for a limit of its account that was stated to
// another host. A person who asks for a try gets one.
func (s Session) WaitsForFleet(lifts, now time.Time) bool {
	return s.RetryAskedAt.IsZero() && (s.SharedLimit() == awaited || lifts.Sub(now) <= near)
}
