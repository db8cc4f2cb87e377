// Package limit says what a provider's refusal means: its class, whether
// waiting helps, and when it lifts. It is the one place that knows the
// language of limits: status codes, error codes, headers and words.
package limit

import "time"

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
