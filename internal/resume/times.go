package resume

import (
	"slices"
	"time"

	"resumed/internal/limit"
)

// Who writes a transcript may write any date into it: one of the year -1 or
// 10000 can be compared and added to, but not be written as JSON, and what
// cannot be written can neither be kept nor shown. So every time is bounded
// where it enters: an event that happened at an impossible time does not tell
// when it happened, and what is to come is never later than that.

// latest is the latest time that anything is waited for.
var latest = time.Date(2199, time.December, 31, 23, 59, 59, 0, time.UTC)

// Possible reports whether anything can have been written at that time.
func Possible(t time.Time) bool { return t.UTC().Year() >= 1970 && !t.After(latest) }

// past bounds the time of what has happened; zero: it does not tell.
func past(t time.Time) time.Time {
	if t.IsZero() || Possible(t) {
		return t
	}
	return time.Time{}
}

// ahead bounds the time of what is to come.
func ahead(t time.Time) time.Time {
	if t.After(latest) {
		return latest
	}
	return past(t)
}

// Bounded returns an event whose times can be kept.
func Bounded(ev Event) Event {
	switch ev := ev.(type) {
	case Limited:
		ev.At = past(ev.At)
		ev.Reset = boundedReset(ev.Reset)
		ev.Context.At = past(ev.Context.At)
		return ev
	case Progressed:
		ev.At = past(ev.At)
		return ev
	case Prompted:
		ev.At = past(ev.At)
		return ev
	case Cancelled:
		ev.At = past(ev.At)
		return ev
	case NotSent:
		ev.Until = ahead(ev.Until)
		return ev
	case Weighed:
		ev.Context.At = past(ev.Context.At)
		return ev
	case Metered:
		ev.Usage.At, ev.Usage.WeekResetsAt, ev.Usage.Lifts = past(ev.Usage.At), ahead(ev.Usage.WeekResetsAt), ahead(ev.Usage.Lifts)
		return ev
	default:
		return ev
	}
}

// boundedReset drops a reset before all times, which nobody can have stated.
func boundedReset(r limit.Reset) limit.Reset {
	if r.At = ahead(r.At); !r.Stated() {
		return limit.Reset{}
	}
	return r
}

// Bounded returns an observation whose times can be kept.
func (s Observation) Bounded() Observation {
	s.CwdBorn, s.Made, s.Event = past(s.CwdBorn), past(s.Made), Bounded(s.Event)
	return s
}

// Bounded returns a session of an earlier daemon with times that can be kept,
// and whether it had others: one that did not bound them may have left some.
func (s Session) Bounded(now time.Time) (Session, bool) {
	bad := false
	mend := func(t *time.Time, bound func(time.Time) time.Time) {
		if with := bound(*t); !with.Equal(*t) {
			*t, bad = with, true
		}
	}
	for _, t := range []*time.Time{&s.CwdBorn, &s.BornAt, &s.FoundAt, &s.MovedAt, &s.PromptedAt, &s.Context.At, &s.Usage.At, &s.ClosedAt, &s.RecoveredAt, &s.WaitFrom, &s.RetryAskedAt, &s.MissedAt, &s.StoppedAt} {
		mend(t, past)
	}
	interrupted := !s.LimitedAt.IsZero()
	if mend(&s.LimitedAt, past); interrupted && s.LimitedAt.IsZero() {
		s.LimitedAt = earlier(now, later(s.FoundAt, s.LimitedAt))
		if s.LimitedAt.IsZero() {
			s.LimitedAt = now
		}
	}
	for _, t := range []*time.Time{&s.NextAt, &s.Hold, &s.GivesUpAt, &s.Usage.WeekResetsAt, &s.Usage.Lifts} { // with a margin they may be later than the latest
		if !Tellable(*t) {
			mend(t, ahead)
		}
	}
	if reset := boundedReset(s.Limit.Reset); !reset.At.Equal(s.Limit.Reset.At) {
		s.Limit.Reset, bad = reset, true
	}
	for _, attempts := range []*[]Attempt{&s.Attempts, &s.Past, &s.Cut} {
		*attempts = slices.Clone(*attempts)
		for i := range *attempts {
			mend(&(*attempts)[i].StartedAt, past)
			mend(&(*attempts)[i].EndedAt, past)
		}
	}
	if s.Newcomer != nil {
		other := *s.Newcomer
		mend(&other.BornAt, past)
		s.Newcomer = &other
	}
	return s, bad
}

// Tellable reports whether a time can be written as JSON, in UTC.
func Tellable(t time.Time) bool { return t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 }
