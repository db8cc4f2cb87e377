package resume

import (
	"time"
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

// AccountKey names the limit that the session shares with others. One that goes on with a
// key shares none: that it moves does not mean that the limit of its account is over.
func (s Session) AccountKey() AccountKey { return AccountKey{s.Account, s.provider()} }

// provider returns who is asked for the session, where an account may have several.
func (s Session) provider() string {
	if s.Paid != nil {
		return ownKey
	}
	return s.Provider
}

// Account is how a limit stands that several sessions share.
type Account struct {
	AccountKey
	State    Breaker
	ResetAt  time.Time // zero: not stated
	Sessions int
	Kept     int       // how many of them are worth keeping
	MovedAt  time.Time // when one of them last moved; zero: nobody saw it
}
