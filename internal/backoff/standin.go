package backoff

import (
	"errors"
	"fmt"
	"time"
)

// FieldError is one field of a policy that cannot be meant.
type FieldError struct{ Field, Value, Want string }

func (e *FieldError) Error() string { return fmt.Sprintf("%s: %s, got %s", e.Field, e.Want, e.Value) }

// Named returns the built-in policy of that name.
func Named(name string) (Policy, bool) {
	p := Default()
	switch name {
	case "default":
	case "interactive":
		p.MaxRetries, p.BaseDelay, p.MaxDelay, p.JitterPercent = 2, 500*time.Millisecond, 8*time.Second, 0.2
	default:
		return Policy{}, false
	}
	return p, true
}

// Names returns the names of the built-in policies.
func Names() []string { return []string{"default", "interactive"} }

// Validate returns nil or every bad field at once.
func (p Policy) Validate() error {
	var bad []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			bad = append(bad, &FieldError{field, fmt.Sprint(value), want})
		}
	}
	check(p.Strategy == Fixed || p.Strategy == Linear || p.Strategy == Exponential, "strategy", p.Strategy, `must be one of "fixed", "linear", "exponential"`)
	check(p.BaseDelay > 0, "base_delay", p.BaseDelay, "must be more than 0s")
	check(p.MaxDelay >= p.BaseDelay, "max_delay", p.MaxDelay, fmt.Sprintf("must be at least base_delay (%s)", p.BaseDelay))
	check(p.MaxRetries > 0, "max_retries", p.MaxRetries, "must be at least 1")
	check(p.JitterMode == Symmetric || p.JitterMode == Additive || p.JitterMode == Full || p.JitterMode == Equal, "jitter_mode", p.JitterMode, `must be one of "symmetric", "additive", "full", "equal"`)
	check(p.JitterPercent >= 0 && p.JitterPercent <= 1, "jitter_percent", p.JitterPercent, "must be between 0.0 and 1.0")
	check(p.MaxExponent >= 0, "max_exponent", p.MaxExponent, "must be 0 (no bound) or more")
	return errors.Join(bad...)
}
