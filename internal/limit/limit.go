// Package limit says what a provider's refusal means: its class, whether
// waiting helps, and when it lifts. Facts are believed first: statuses, codes,
// headers and stated times; words refine them, and tell what no field says.
package limit

import (
	"time"

	"resumed/internal/limit/when"
)

// Source says where a reset time was read.
type Source string

// The sources of a reset time. The zero Source is none.
const (
	Structured Source = "structured" // a field of the agent's own record
	Header     Source = "header"     // a header of the provider's answer
	Words      Source = "text"       // the message itself
)

// Reset is when a refusal lifts, as it was stated. The zero Reset states nothing.
type Reset struct {
	At     time.Time `json:"at,omitzero"`
	Source Source    `json:"source,omitempty"`

	// Rough is true for a clock time or a date read from words: agents print
	// those cut short to the minute, so a margin belongs after them. A plain
	// duration ("retry in 2s"), a header or an epoch is exact.
	Rough bool `json:"rough,omitempty"`

	// Counted is true for a duration: it counts from when it was said, by the clock of
	// the machine that wrote it down.
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
type Reader struct {
	At    time.Time      // when the words were printed
	Zone  *time.Location // the zone they were printed in where they name none; nil means local
	Grace time.Duration  // a clock time this far in the past means now, not tomorrow
}

// Refusal is what is known of one provider's refusal. Any field may be empty;
// structured fields win over text.
type Refusal struct {
	Status  int               // HTTP status; 0 where there was no answer
	Code    string            // the provider's or the agent's own error code, such as "rate_limit_error"
	Headers map[string]string // of the answer; names in any case
	Text    string            // what the agent printed
}

// Epoch reads a Unix time in seconds, or in milliseconds where it would
// otherwise lie thousands of years ahead. It refuses what is neither: counts,
// identifiers, and times outside this century.
func Epoch[N int | int64 | float64](n N) (time.Time, bool) { return when.Epoch(n) }

// When reads a bare time: a duration, a clock time, a date, a weekday, an
// epoch, an RFC 3339 or HTTP date. A number alone is a count of seconds, as in
// Retry-After, unless it is long enough to be an epoch.
func (r Reader) When(s string) (Reset, bool) {
	f, ok := when.Reader(r).When(s)
	return Reset{At: f.At, Source: sourceIf(ok), Rough: f.Rough, Counted: f.Counted}, ok
}

// Written reads when a line says that it was written: the last such time at or
// before r.At, which is when its file was. It reports false for what is no time, and
// for a date that lies ahead.
func (r Reader) Written(s string) (time.Time, bool) {
	r.Grace = 0
	f, ok := when.Reader(r).When(s)
	if !ok || f.Exact != 0 {
		return time.Time{}, false // a length tells no time
	}
	if f.At.After(r.At) && f.Daily {
		f.At = f.At.AddDate(0, 0, -1) // a clock without a date
	}
	return f.At, !f.At.After(r.At)
}

// ParseZone returns the zone of that name: of the zone database, in short, or as
// an offset.
func ParseZone(name string) (*time.Location, bool) { return when.Zone(name) }

func sourceIf(stated bool) Source {
	if stated {
		return Words
	}
	return ""
}
