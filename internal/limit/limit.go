// Package limit determines what a provider's refusal means: its class, whether waiting helps, and when
// it lifts. Statuses, codes, headers and stated times are believed first; the words refine them, and
// are used alone if there are no such fields.
package limit

import (
	"fmt"
	"time"

	"resumed/internal/limit/when"
)

// Source is where a reset time was read.
type Source string

// The sources of a reset time. The zero Source is none.
const (
	Structured Source = "structured" // a field of the agent's own record
	Header     Source = "header"     // a header of the provider's answer
	Words      Source = "text"       // the message itself
)

// Reset is when a refusal lifts, as stated. The zero Reset states nothing.
type Reset struct {
	At     time.Time `json:"at,omitzero"`
	Source Source    `json:"source,omitempty"`

	// Rough is true for a clock time or a date in words: agents round those down to the minute, so a
	// margin has to be added. A plain duration ("retry in 2s"), a header or an epoch is exact.
	Rough bool `json:"rough,omitempty"`

	// Counted is true for a duration: it counts from when it was printed.
	Counted bool `json:"counted,omitempty"`
}

// Stated reports whether a time was stated at all.
func (r Reset) Stated() bool { return !r.At.IsZero() }

// Verdict is what a refusal means.
type Verdict struct {
	Class      Class `json:"class"`
	WaitHelps  bool  `json:"wait_helps"`
	InProgress bool  `json:"in_progress,omitempty"` // the agent retries or will continue by itself
	Reset      Reset `json:"reset,omitzero"`
}

// Reader reads refusals that were printed at one time and place.
type Reader when.Reader

// Refusal is what is known about one refusal. Any field may be empty; structured fields win over text.
type Refusal struct {
	Status  int               // HTTP status; 0: no response
	Code    string            // the provider's or the agent's own error code, such as "rate_limit_error"
	Headers map[string]string // of the response; names in any case
	Text    string            // what the agent printed
}

// Epoch is when.Epoch: a Unix time in seconds or milliseconds.
func Epoch[N int | int64 | float64](n N) (time.Time, bool) { return when.Epoch(n) }

// When reads a bare time, in any form that when.Reader reads.
func (r Reader) When(s string) (Reset, bool) {
	f, ok := when.Reader(r).When(s)
	if !ok {
		return Reset{}, false
	}
	return Reset{At: f.At, Source: Words, Rough: f.Rough, Counted: f.Counted}, true
}

// Written reads the time at which a line says it was written: the last such time at or before r.At, the
// time of its file. It returns false for text that is not a time, and for a date in the future.
func (r Reader) Written(s string) (time.Time, bool) {
	r.Grace = 0
	f, ok := when.Reader(r).When(s)
	if !ok || f.Exact != 0 {
		return time.Time{}, false // a duration is not a point in time
	}
	if f.At.After(r.At) && f.Daily {
		f.At = f.At.AddDate(0, 0, -1) // a clock without a date
	}
	return f.At, !f.At.After(r.At)
}

// ParseZone returns the zone with that name: from the zone database, an abbreviation, or an offset.
func ParseZone(name string) (*time.Location, bool) { return when.Zone(name) }

// Class is the kind of refusal that stopped a session.
type Class uint8

// The classes. The zero Class is None: nothing was refused.
const (
	None Class = iota
	RateLimit
	UsageLimit
	Overloaded
	ServerError
	Network
	Timeout
	Unknown
	CutOff
	Auth
	Billing
	ContextOverflow
	BadRequest
	Cancelled
)

var classes = [...]struct{ name, words string }{
	None:            {"none", ""},
	RateLimit:       {"rate_limit", "rate limit"},
	UsageLimit:      {"usage_limit", "usage limit"},
	Overloaded:      {"overloaded", "provider overloaded"},
	ServerError:     {"server_error", "provider error"},
	Network:         {"network", "no network"},
	Timeout:         {"timeout", "timeout"},
	Unknown:         {"unknown", "an error that resumed does not know"},
	CutOff:          {"cut_off", "cut off"},
	Auth:            {"auth", "sign-in needed"},
	Billing:         {"billing", "billing"},
	ContextOverflow: {"context_overflow", "context too long"},
	BadRequest:      {"bad_request", "request refused"},
	Cancelled:       {"cancelled", "stopped by you"},
}

// Title returns the name of the class for people; empty for None.
func (c Class) Title() string {
	if int(c) < len(classes) {
		return classes[c].words
	}
	return c.String()
}

// Classes returns all classes, in the order of the documentation.
func Classes() []Class {
	all := make([]Class, len(classes))
	for i := range all {
		all[i] = Class(i)
	}
	return all
}

// ParseClass returns the class of that name.
func ParseClass(name string) (Class, error) {
	for i, c := range classes {
		if c.name == name {
			return Class(i), nil
		}
	}
	return None, fmt.Errorf("unknown class %q", name)
}

// Transient reports whether a refusal may lift by itself. Unknown may: it is tried a few times.
func (c Class) Transient() bool {
	switch c {
	case RateLimit, UsageLimit, Overloaded, ServerError, Network, Timeout, Unknown, CutOff:
		return true
	default:
		return false
	}
}

// Allowance reports whether a refusal of this class means that an allowance is used up.
func (c Class) Allowance() bool { return c == UsageLimit || c == RateLimit }

// Outage reports whether the provider works for no user, or cannot be reached.
func (c Class) Outage() bool { return c == Overloaded || c == ServerError || c == Network }

func (c Class) String() string {
	if int(c) < len(classes) {
		return classes[c].name
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// MarshalText writes the class's name.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a class's name.
func (c *Class) UnmarshalText(text []byte) error {
	parsed, err := ParseClass(string(text))
	*c = parsed // None, if there is no such class
	return err
}
