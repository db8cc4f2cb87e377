package backoff

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FieldError is an invalid field of a policy.
type FieldError struct {
	Field string // its name in the configuration, such as "max_delay"
	Value string // what was given
	Want  string // what is allowed, beginning with "must"
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: %s, got %s", e.Field, e.Want, e.Value)
}

// Strategies returns every strategy, in the order of the documentation.
func Strategies() []Strategy { return []Strategy{Fixed, Linear, Exponential} }

// JitterModes returns every jitter mode, in the order of the documentation.
func JitterModes() []JitterMode { return []JitterMode{Symmetric, Additive, Full, Equal} }

// Validate returns nil or all invalid fields: an errors.Join of *FieldError, in the order of the
// fields. Without jitter, the jitter mode may be empty.
func (p Policy) Validate() error {
	var bad []error
	check := func(ok bool, field, value, want string) {
		if !ok {
			bad = append(bad, &FieldError{Field: field, Value: value, Want: want})
		}
	}

	check(slices.Contains(Strategies(), p.Strategy),
		"strategy", strconv.Quote(string(p.Strategy)), "must be one of "+list(Strategies()))
	check(p.BaseDelay > 0,
		"base_delay", p.BaseDelay.String(), "must be more than 0s")
	least, want := time.Duration(1), "must be more than 0s"
	if p.BaseDelay > 0 {
		least, want = p.BaseDelay, "must be at least base_delay ("+FormatDuration(p.BaseDelay)+")"
	}
	check(p.MaxDelay >= least,
		"max_delay", p.MaxDelay.String(), want)
	fewest, wantRetries := 1, "must be at least 1"
	if p.MaxElapsed > 0 {
		fewest, wantRetries = 0, "must be 0 (no bound, as max_elapsed is one) or more"
	}
	check(p.MaxRetries >= fewest,
		"max_retries", strconv.Itoa(p.MaxRetries), wantRetries)
	check(p.MaxElapsed >= 0,
		"max_elapsed", p.MaxElapsed.String(), "must be 0s (no bound) or more")
	check(slices.Contains(JitterModes(), p.JitterMode) || p.JitterMode == "" && !p.Jitter,
		"jitter_mode", strconv.Quote(string(p.JitterMode)), "must be one of "+list(JitterModes()))
	check(p.JitterPercent >= 0 && p.JitterPercent <= 1, // false for NaN
		"jitter_percent", strconv.FormatFloat(p.JitterPercent, 'g', -1, 64), "must be between 0.0 and 1.0: 0.1 is 10 %")
	check(p.MaxExponent >= 0,
		"max_exponent", strconv.Itoa(p.MaxExponent), "must be 0 (no bound) or more")
	return errors.Join(bad...)
}

func list[T ~string](words []T) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(string(w))
	}
	return strings.Join(quoted, ", ")
}
