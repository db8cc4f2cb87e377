package resume

import (
	"fmt"
	"time"

	"resumed/internal/limit"
)

// Learned is what became known of a session by other ways than its transcript. What is not known is zero.
type Learned struct {
	Program Program // what a live process of its own runs,
	Origin  *Origin // what that was started with,
	Kind    string  // and whether a person sits before it: Interactive or Headless

	Context *Context
	Usage   *Usage
	Cost    *Cost
}

// Context is what a provider must read again when a session continues.
type Context struct {
	Tokens int64     `json:"tokens"`
	At     time.Time `json:"at"` // when the provider last read it

	// Warm is how long the provider keeps it at hand, if known: what is
	// read again within that costs a tenth.
	Warm time.Duration `json:"warm,omitempty"`
}

// Usage is what a session's agent knows of its account's allowances.
type Usage struct {
	At           time.Time `json:"at"`                      // when the provider stated it
	WeekUsed     float64   `json:"week_used"`               // percent of what is allowed in a week
	WeekResetsAt time.Time `json:"week_resets_at,omitzero"` // zero: nothing is known of the week

	// Lifts is when the limit ends that stopped the session, if the record of
	// it did not tell.
	Lifts time.Time `json:"lifts,omitzero"`
}

// Cost is what a session has cost until now, as its agent counts it, at the prices of its
// provider's API. With a subscription nobody is asked for that sum.
type Cost struct {
	USD  float64       `json:"usd"`
	Work time.Duration `json:"work"` // how long the agent has worked for that
	Read int64         `json:"read"` // the position in the transcript at which it was read
}

// AnHour returns what an hour of work has cost so far; 0: it is not known.
func (c Cost) AnHour() float64 {
	if c.Work < time.Second {
		return 0
	}
	return c.USD / c.Work.Hours()
}

func (s Session) learned(ev Learned, r Rules, now time.Time) Session {
	if ev.Program != (Program{}) {
		s.Program = ev.Program
	}
	if ev.Origin != nil && !s.missedBy(*ev.Origin) {
		s.Origin = ev.Origin
	}
	if ev.Cost != nil {
		s.Cost = *ev.Cost
	}
	if ev.Context != nil {
		s = s.weighed(*ev.Context, r)
	}
	if ev.Usage != nil {
		s = s.metered(*ev.Usage, r, now)
	}
	return s.Attended(ev.Kind)
}

// OnCold is what is done about a session whose context is larger than the user
// wants to have read anew.
type OnCold string

// What may be done.
const (
	ResumeCold OnCold = "resume" // it continues
	TellCold   OnCold = "tell"   // it continues, and a person is told before
	ParkCold   OnCold = "park"   // a person is asked
)

// Cold reports whether a resume at that time is read anew as a whole, and whether
// that is known.
func (s Session) Cold(at time.Time) (cold, known bool) {
	if s.Context.Tokens == 0 || s.Context.Warm == 0 || s.Context.At.IsZero() {
		return false, false
	}
	return at.Sub(s.Context.At) > s.Context.Warm, true
}

// tooCold says that a resume at that time would read more anew than is wanted; empty:
// it would not, or that is not known.
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

// weighed notes how large the context is, and reports it to a person if that is wanted.
func (s Session) weighed(size Context, r Rules) Session {
	s.Context = size
	if s.State != Waiting || s.Reported || r.OnCold != TellCold {
		return s
	}
	if why := s.tooCold(r, s.NextAt); why != "" {
		s.Reported, s.Reason = true, join(describe(s.Limit, ""), why, "it is resumed anyway, unless you cancel it")
	}
	return s
}

// metered notes how much is used, and waits for what was not known when the wait began.
func (s Session) metered(usage Usage, r Rules, now time.Time) Session {
	if usage.At.Before(s.Usage.At) {
		return s
	}
	s.Usage = usage
	if s.State != Waiting {
		return s
	}
	if s.Limit.Class == limit.UsageLimit && !s.Limit.Reset.Stated() && s.Usage.Lifts.After(s.LimitedAt) {
		s.Limit.Reset = limit.Reset{At: s.Usage.Lifts, Source: limit.Structured}
	}
	return s.scheduleAgain(r, now)
}

// Reserved says why the session is not resumed now, because the rest of the week is
// reserved for people, and until when; empty: nothing is against it. A person's order is
// stronger.
func (r Rules) Reserved(s Session, now time.Time) (why string, until time.Time) {
	if why, until = r.ReservedBy(s.Usage, s, now); why != "" {
		why += "; " + s.retry() + " continues it now"
	}
	return why, until
}

// ReservedBy is Reserved by the usage of the account. Its reason does not name the session, so that
// sessions that wait for the same reason are found together.
func (r Rules) ReservedBy(u Usage, s Session, now time.Time) (why string, until time.Time) {
	until = u.WeekResetsAt.Add(r.Margin)
	free := r.WeeklyReserve <= 0 || u.WeekUsed < 100-float64(r.WeeklyReserve) || !until.After(now)
	if free || !s.RetryAskedAt.IsZero() || s.Paid != nil {
		return "", time.Time{}
	}
	return fmt.Sprintf("%.0f %% of the week's allowance is used, and the last %d %% are kept for you (resume.weekly_reserve): it waits for the new week",
		u.WeekUsed, r.WeeklyReserve), until
}
