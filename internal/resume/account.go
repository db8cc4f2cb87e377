package resume

import (
	"time"

	"resumed/internal/limit"
)

// Breaker is the state of an account's limit.
type Breaker string

// The states of an account's breaker.
const (
	Closed   Breaker = "closed"    // nothing is limited
	Open     Breaker = "open"      // limited: no session is resumed before the reset
	HalfOpen Breaker = "half_open" // one session tries, alone
)

// AccountKey names a limit that several sessions share. One home of an agent is one account, and other
// programs may rely on its name AGENT:NAME. Some agents use several providers from one home, each with
// its own limit. The provider is not part of the name: a program finds the account by its name, and the
// limit of one provider does not hold back the sessions of another.
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

// Account is the state of a limit that several sessions share.
type Account struct {
	AccountKey
	State    Breaker
	ResetAt  time.Time // zero: not stated
	Sessions int
	Kept     int       // how many of them are WorthKeeping
	MovedAt  time.Time // when one of them last moved; zero: not known
	Probe    *Probe    // nil: none
}

// Probe is a resume of one session of an account that shows whether the account's limit is over. The
// others wait for it, but not longer than Until.
type Probe struct {
	Session string    `json:"session"` // its id
	Name    string    `json:"name"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
}

// near is how soon a window must end to hold back a session that was not stopped by it. A window of
// several days may belong to a model that the session does not use.
const near = 6 * time.Hour

// SharedLimit says whether a session that is due waits for a window that was stated to another session
// of its account.
type SharedLimit uint8

const (
	ignored       SharedLimit = iota // the provider named a time to the session itself, or a person asked for a try
	awaited                          // a try would only meet the limit
	awaitedIfNear                    // waits if the window ends soon: see near
)

// SharedLimit says whether the session waits for a window that was stated to another session.
func (s Session) SharedLimit() SharedLimit {
	switch {
	case !s.RetryAskedAt.IsZero():
		return ignored
	case s.Pending():
		return awaited // a task starts when there is room
	case s.Limit.Class == limit.UsageLimit && !s.Limit.Reset.Stated():
		return awaited
	case s.Limit.Class == limit.UsageLimit, s.Limit.Class == limit.RateLimit && s.Limit.Reset.Stated():
		return ignored
	default:
		return awaitedIfNear
	}
}

// HoldsBack reports whether a window with that end holds the session back.
func (l SharedLimit) HoldsBack(ends, now time.Time) bool {
	return !ends.IsZero() && (l == awaited || l == awaitedIfNear && ends.Sub(now) <= near)
}

// WaitsForFleet reports whether the session waits for a limit of its account that was stated to another
// machine. It does not if a person asked for a try.
func (s Session) WaitsForFleet(lifts, now time.Time) bool {
	return s.RetryAskedAt.IsZero() && (s.SharedLimit() == awaited || lifts.Sub(now) <= near)
}
