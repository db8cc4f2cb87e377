// Package backoff computes how long to wait before a retry, and runs an operation under a policy.
package backoff

import (
	"math"
	"time"
)

// Strategy says how delays grow.
type Strategy string

// The strategies.
const (
	Fixed       Strategy = "fixed"
	Linear      Strategy = "linear"
	Exponential Strategy = "exponential"
)

// JitterMode says how a delay is randomized.
type JitterMode string

// The jitter modes.
const (
	Symmetric JitterMode = "symmetric" // ± percent
	Additive  JitterMode = "additive"  // + 0…percent
	Full      JitterMode = "full"      // 0…delay
	Equal     JitterMode = "equal"     // half fixed, half random
)

// Policy says how long to wait before each retry, and how many retries there are. It is a plain value:
// equal policies give equal results.
type Policy struct {
	Strategy      Strategy      `mapstructure:"strategy"       toml:"strategy"`
	BaseDelay     time.Duration `mapstructure:"base_delay"     toml:"base_delay"`
	MaxDelay      time.Duration `mapstructure:"max_delay"      toml:"max_delay"`
	MaxRetries    int           `mapstructure:"max_retries"    toml:"max_retries"` // 0: no bound, if MaxElapsed is set
	MaxElapsed    time.Duration `mapstructure:"max_elapsed"    toml:"max_elapsed"` // tries end this long after the first failure; 0: only MaxRetries ends them
	Jitter        bool          `mapstructure:"jitter"         toml:"jitter"`
	JitterMode    JitterMode    `mapstructure:"jitter_mode"    toml:"jitter_mode"`
	JitterPercent float64       `mapstructure:"jitter_percent" toml:"jitter_percent"` // 0.0 … 1.0
	HardCap       bool          `mapstructure:"hard_cap"       toml:"hard_cap"`       // MaxDelay also bounds the jittered delay
	MaxExponent   int           `mapstructure:"max_exponent"   toml:"max_exponent"`   // the doubling stops there; 0: only MaxDelay stops it
}

// Unlimited is the MaxRetries of an operation that is bounded only by its caller's deadline.
const Unlimited = math.MaxInt

// retries returns the maximum number of retries.
func (p *Policy) retries() int {
	if p.MaxRetries == 0 && p.MaxElapsed > 0 {
		return Unlimited
	}
	return p.MaxRetries
}

// Spent reports whether the policy allows no more retries after so many, when the last failure was so
// long after the first.
func (p Policy) Spent(retries int, elapsed time.Duration) bool {
	return retries >= p.retries() || p.MaxElapsed > 0 && retries > 0 && elapsed >= p.MaxElapsed
}

// Default returns the policy that is used if no other applies: 30 s, doubling to 5 minutes, ±10 %, five
// retries.
func Default() Policy { return doubling(5, 30*time.Second, 5*time.Minute, 0.1) }
