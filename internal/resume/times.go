package resume

import (
	"time"

	"resumed/internal/limit"
)

// A transcript may contain any date: one of the year -1 or
// 10000 can be compared and added to, but not be written as JSON, and what
// cannot be written can neither be stored nor shown. So every time is bounded
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

// Bounded returns an event whose times can be stored.
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
	case Learned:
		if c := ev.Context; c != nil {
			ev.Context = &Context{Tokens: c.Tokens, At: past(c.At), Warm: c.Warm}
		}
		if u := ev.Usage; u != nil {
			ev.Usage = &Usage{At: past(u.At), WeekUsed: u.WeekUsed, WeekResetsAt: ahead(u.WeekResetsAt), Lifts: ahead(u.Lifts)}
		}
		return ev
	default:
		return ev
	}
}

// boundedReset drops a reset before all times, which no provider can have stated.
func boundedReset(r limit.Reset) limit.Reset {
	if r.At = ahead(r.At); !r.Stated() {
		return limit.Reset{}
	}
	return r
}

// Bounded returns an observation whose times can be stored.
func (s Observation) Bounded() Observation {
	s.CwdBorn, s.Made, s.Event = past(s.CwdBorn), past(s.Made), Bounded(s.Event)
	return s
}

// Tellable reports whether a time can be written as JSON, in UTC.
func Tellable(t time.Time) bool { return t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 }
