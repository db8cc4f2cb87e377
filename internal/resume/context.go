package resume

import (
	"fmt"
	"time"
)

// Context is what a provider must read again when a session goes on.
type Context struct {
	Tokens int64     `json:"tokens"`
	At     time.Time `json:"at"` // when the provider last read it

	// Warm is how long the provider keeps it at hand, where that is known: what is
	// read again within that costs a tenth.
	Warm time.Duration `json:"warm,omitempty"`
}

// OnCold is what is done about a session whose context is larger than the user
// wants to have read anew.
type OnCold string

// What may be done.
const (
	ResumeCold OnCold = "resume" // it goes on
	TellCold   OnCold = "tell"   // it goes on, and a person is told before
	ParkCold   OnCold = "park"   // a person is asked
)

// Weighed is what the next resume of a session has to read again.
type Weighed struct{ Context Context }

// Cold reports whether a resume at that time is read anew as a whole, and whether
// that is known.
func (s Session) Cold(at time.Time) (cold, known bool) {
	if s.Context.Tokens == 0 || s.Context.Warm == 0 || s.Context.At.IsZero() {
		return false, false
	}
	return at.Sub(s.Context.At) > s.Context.Warm, true
}

// tooCold says that a resume at that time would read more anew than is wanted; empty:
// it would not, or nobody knows.
func (s Session) tooCold(r Rules, at time.Time) string {
	cold, known := s.Cold(at)
	if r.MaxColdTokens <= 0 || s.Context.Tokens <= r.MaxColdTokens || known && !cold {
		return ""
	}
	return fmt.Sprintf("a resume reads about %s tokens again, more than resume.max_cold_tokens (%s)",
		grouped(s.Context.Tokens), grouped(r.MaxColdTokens))
}

// TooCold says why the session is not resumed at that time, because of what that
// would read anew; empty: nothing is against it. A person's order is stronger.
func (r Rules) TooCold(s Session, at time.Time) string {
	if r.OnCold != ParkCold || !s.RetryAskedAt.IsZero() {
		return ""
	}
	why := s.tooCold(r, at)
	if why == "" {
		return ""
	}
	return why + "; " + s.retry() + " continues it anyway"
}

// weighed notes how large the context is, and tells a person where that is wanted.
func (s Session) weighed(ev Weighed, r Rules) Session {
	s.Context = ev.Context
	if s.State != Waiting || s.Told || r.OnCold != TellCold {
		return s
	}
	if why := s.tooCold(r, s.NextAt); why != "" {
		s.Told, s.Reason = true, join(describe(s.Limit, ""), why, "it is resumed anyway, unless you cancel it")
	}
	return s
}

// grouped writes a large number so that people can read it.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}
