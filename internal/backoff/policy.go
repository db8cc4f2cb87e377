// Package backoff computes how long to wait before a retry, and runs an operation under a policy.
package backoff

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
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

// The built-in policies, by their names in the configuration and on the command line.
var named = []struct {
	name   string
	policy Policy
}{
	{"default", Default()},
	{"interactive", doubling(2, 500*time.Millisecond, 8*time.Second, 0.2)},
	{"conservative", doubling(5, 500*time.Millisecond, 60*time.Second, 0.2)},
	{"batch", doubling(3, 2*time.Second, 32*time.Second, 0.2)},
	{"api", doubling(3, time.Second, 32*time.Second, 0.2)},
	{"task", with(doubling(3, time.Second, 30*time.Second, 0), func(p *Policy) { p.Jitter = false })},

	// For processes that compete for one thing: short waits, jitter that only adds, and a doubling that
	// stops below the cap.
	{"contention", with(doubling(6, 10*time.Millisecond, time.Second, 0.5), func(p *Policy) {
		p.HardCap, p.JitterMode, p.MaxExponent = true, Additive, 6
	})},

	// For problems that a provider needs hours to fix: published incidents last 20 to 180 minutes.
	{"outage", with(doubling(0, 30*time.Second, 15*time.Minute, 0.2), func(p *Policy) { p.MaxElapsed = 12 * time.Hour })},

	{"workflow", with(doubling(4, time.Second, 60*time.Second, 0.5), func(p *Policy) { p.HardCap = true })},
}

// Named returns the built-in policy of that name.
func Named(name string) (Policy, bool) {
	for _, n := range named {
		if n.name == name {
			return n.policy, true
		}
	}
	return Policy{}, false
}

// Names returns the names of the built-in policies, the default first.
func Names() []string {
	names := make([]string, len(named))
	for i, n := range named {
		names[i] = n.name
	}
	return names
}

func doubling(retries int, base, limit time.Duration, percent float64) Policy {
	return Policy{
		Strategy:      Exponential,
		BaseDelay:     base,
		MaxDelay:      limit,
		MaxRetries:    retries,
		Jitter:        true,
		JitterMode:    Symmetric,
		JitterPercent: percent,
	}
}

func with(p Policy, change func(*Policy)) Policy {
	change(&p)
	return p
}

// InvalidField is an invalid field of a policy.
type InvalidField struct {
	Field string // its name in the configuration, such as "max_delay"
	Value any    // what was given: a string, a duration or a number
	Want  string // what is allowed, beginning with "must"
}

// BoundBy returns the field that decides which values another one may have; "": none does.
func BoundBy(field string) string {
	return map[string]string{"max_delay": "base_delay", "max_retries": "max_elapsed"}[field]
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

// String describes the policy in one line: "exponential 30s…5m ±10%, 5 retries".
func (p Policy) String() string {
	var b strings.Builder
	b.WriteString(string(p.Strategy) + " " + FormatDuration(p.BaseDelay))
	if p.Strategy != Fixed {
		b.WriteString("…" + FormatDuration(p.MaxDelay))
	}
	b.WriteString(p.jitterWords())
	if p.HardCap && p.Jitter {
		b.WriteString(", never over " + FormatDuration(p.MaxDelay))
	}
	if p.MaxExponent > 0 && p.Strategy == Exponential {
		fmt.Fprintf(&b, ", doubled at most %s", count(p.MaxExponent, "time", "times"))
	}
	switch {
	case p.retries() != Unlimited:
		b.WriteString(", " + count(p.MaxRetries, "retry", "retries"))
	case p.MaxElapsed == 0:
		b.WriteString(", unlimited retries")
	}
	if p.MaxElapsed > 0 {
		b.WriteString(", for " + FormatDuration(p.MaxElapsed))
	}
	return b.String()
}

func (p Policy) jitterWords() string {
	percent := strconv.FormatFloat(p.JitterPercent*100, 'g', 4, 64) + "%"
	switch {
	case !p.Jitter:
		return ", no jitter"
	case p.JitterMode == Symmetric:
		return " ±" + percent
	case p.JitterMode == Additive:
		return " +0…" + percent
	default:
		return ", " + string(p.JitterMode) + " jitter"
	}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// MarshalJSON writes the policy as in the configuration, with durations as strings such as "30s". A
// MarshalText would make a TOML encoder write a string instead of a table.
func (p Policy) MarshalJSON() ([]byte, error) {
	document := make(map[string]any)
	for field, value := range reflect.ValueOf(p).Fields() {
		document[field.Tag.Get("toml")] = value.Interface()
		if d, ok := value.Interface().(time.Duration); ok {
			document[field.Tag.Get("toml")] = FormatDuration(d)
		}
	}
	return json.Marshal(document)
}

// FormatDuration writes a duration without zero units at its end: "5m", not "5m0s".
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
