// Package backoff says how long to wait before trying again, and runs an
// operation under a policy.
package backoff

import "time"

// Strategy says how delays grow.
type Strategy string

// The strategies.
const (
	Fixed       Strategy = "fixed"
	Linear      Strategy = "linear"
	Exponential Strategy = "exponential"
)

// JitterMode says how chance spreads a delay.
type JitterMode string

// The jitter modes.
const (
	Symmetric JitterMode = "symmetric" // ± percent
	Additive  JitterMode = "additive"  // + 0…percent
	Full      JitterMode = "full"      // 0…delay
	Equal     JitterMode = "equal"     // half fixed, half chance
)

// Policy says how long to wait before each retry, and how many there are. It
// is a plain value: equal policies behave equally.
type Policy struct {
	Strategy      Strategy
	BaseDelay     time.Duration
	MaxDelay      time.Duration
	MaxRetries    int
	Jitter        bool
	JitterMode    JitterMode
	JitterPercent float64 // 0.0 … 1.0
	HardCap       bool    // MaxDelay also bounds the jittered delay
	MaxExponent   int     // the doubling stops there; 0: only MaxDelay stops it
}

// Default returns the policy of a session that nothing else is said about:
// 30 s, doubling to 5 minutes, ±10 %, five retries.
func Default() Policy {
	return Policy{
		Strategy:      Exponential,
		BaseDelay:     30 * time.Second,
		MaxDelay:      5 * time.Minute,
		MaxRetries:    5,
		Jitter:        true,
		JitterMode:    Symmetric,
		JitterPercent: 0.1,
	}
}
