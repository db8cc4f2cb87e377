package resume

import (
	"fmt"
	"time"

	"resumed/internal/limit"
)

// Usage is what a session's agent knows of its account's allowances.
type Usage struct {
	At           time.Time `json:"at"`                      // when the provider told it
	WeekUsed     float64   `json:"week_used"`               // percent of what is allowed in a week
	WeekResetsAt time.Time `json:"week_resets_at,omitzero"` // zero: nothing is known of the week

	// Lifts is when the limit is over that stopped the session, where the record of
	// it did not tell.
	Lifts time.Time `json:"lifts,omitzero"`
}

// Metered is what was found out about the allowances.
type Metered struct{ Usage Usage }

// metered notes how much is used, and waits for what was not known when the wait began.
func (s Session) metered(ev Metered, r Rules, now time.Time) Session {
	if ev.Usage.At.Before(s.Usage.At) {
		return s
	}
	s.Usage = ev.Usage
	if s.State != Waiting {
		return s
	}
	if s.Limit.Class == limit.UsageLimit && !s.Limit.Reset.Stated() && s.Usage.Lifts.After(s.LimitedAt) {
		s.Limit.Reset = limit.Reset{At: s.Usage.Lifts, Source: limit.Structured}
	}
	return s.scheduleAgain(r, now)
}

// reserved returns when the week is over of which so much is used that the rest is kept
// for people; zero: it may be used.
func (r Rules) reserved(u Usage, now time.Time) time.Time {
	if r.WeeklyReserve <= 0 || u.WeekUsed < 100-float64(r.WeeklyReserve) || !u.WeekResetsAt.Add(r.Margin).After(now) {
		return time.Time{}
	}
	return u.WeekResetsAt.Add(r.Margin)
}

// Reserved says why the session is not resumed now, because what is left of the week is
// kept for people, and until when; empty: nothing is against it. A person's order is
// stronger.
func (r Rules) Reserved(s Session, now time.Time) (why string, until time.Time) {
	if why, until = r.KeptBack(s, s.Usage, now); why != "" {
		why += "; " + s.retry() + " continues it now"
	}
	return why, until
}

// KeptBack is Reserved by what an account was told. It names no session: those who are
// held back for the same reason stand together.
func (r Rules) KeptBack(s Session, u Usage, now time.Time) (why string, until time.Time) {
	until = r.reserved(u, now)
	if until.IsZero() || !s.RetryAskedAt.IsZero() || s.Paid != nil {
		return "", time.Time{}
	}
	return fmt.Sprintf("%.0f %% of the week's allowance is used, and the last %d %% are kept for you (resume.weekly_reserve): it waits for the new week",
		u.WeekUsed, r.WeeklyReserve), until
}
