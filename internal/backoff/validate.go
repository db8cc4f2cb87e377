package backoff

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// InvalidField is an invalid field of a policy.
type InvalidField struct {
	Field string // its name in the configuration, such as "max_delay"
	Value any    // what was given: a string, a duration or a number
	Want  string // what is allowed, beginning with "must"
}

// Strategies returns every strategy, in the order of the documentation.
func Strategies() []Strategy { return []Strategy{Fixed, Linear, Exponential} }

// JitterModes returns every jitter mode, in the order of the documentation.
func JitterModes() []JitterMode { return []JitterMode{Symmetric, Additive, Full, Equal} }

// Validate returns the invalid fields, in their order. Without jitter, the jitter mode may be empty.
func (p Policy) Validate() (bad []InvalidField) {
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			bad = append(bad, InvalidField{field, value, want})
		}
	}
	check(slices.Contains(Strategies(), p.Strategy), "strategy", string(p.Strategy), "must be one of "+list(Strategies()))
	check(p.BaseDelay > 0, "base_delay", p.BaseDelay, "must be more than 0s")
	least, want := time.Duration(1), "must be more than 0s"
	if p.BaseDelay > 0 {
		least, want = p.BaseDelay, "must be at least base_delay ("+FormatDuration(p.BaseDelay)+")"
	}
	check(p.MaxDelay >= least, "max_delay", p.MaxDelay, want)
	fewest, wantRetries := 1, "must be at least 1"
	if p.MaxElapsed > 0 {
		fewest, wantRetries = 0, "must be 0 (no bound, as max_elapsed is one) or more"
	}
	check(p.MaxRetries >= fewest, "max_retries", p.MaxRetries, wantRetries)
	check(p.MaxElapsed >= 0, "max_elapsed", p.MaxElapsed, "must be 0s (no bound) or more")
	known := slices.Contains(JitterModes(), p.JitterMode) || p.JitterMode == "" && !p.Jitter
	check(known, "jitter_mode", string(p.JitterMode), "must be one of "+list(JitterModes()))
	valid := p.JitterPercent >= 0 && p.JitterPercent <= 1 // false for NaN
	check(valid, "jitter_percent", p.JitterPercent, "must be between 0.0 and 1.0: 0.1 is 10 %")
	check(p.MaxExponent >= 0, "max_exponent", p.MaxExponent, "must be 0 (no bound) or more")
	return bad
}

func list[T ~string](words []T) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(string(w))
	}
	return strings.Join(quoted, ", ")
}
