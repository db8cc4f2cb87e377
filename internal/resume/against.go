package resume

import (
	"fmt"
	"time"
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
