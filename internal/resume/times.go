package resume

import (
	"time"

	"resumed/internal/limit"
)

// A transcript may contain any date. One in the year -1 or 10000 can be compared and added to, but not
// written as JSON, so it could neither be stored nor shown. So all times are bounded where they enter:
// an event at an impossible time has no time, and no future time is later than latest.

// latest is the latest time that a session can wait for.
var latest = time.Date(2199, time.December, 31, 23, 59, 59, 0, time.UTC)

// Possible reports whether a record can have been written at that time.
func Possible(t time.Time) bool { return t.UTC().Year() >= 1970 && !t.After(latest) }

// past bounds a time in the past; zero: not known.
func past(t time.Time) time.Time {
	if t.IsZero() || Possible(t) {
		return t
	}
	return time.Time{}
}

// ahead bounds a time in the future.
func ahead(t time.Time) time.Time {
	if t.After(latest) {
		return latest
	}
	return past(t)
}

// Bounded returns the event with times that can be stored.
func Bounded(ev Event) Event {
	switch ev := ev.(type) {
	case Limited:
		ev.At = past(ev.At)
		if ev.Reset.At = ahead(ev.Reset.At); !ev.Reset.Stated() {
			ev.Reset = limit.Reset{} // no provider can have stated it
		}
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

// Bounded returns the observation with times that can be stored.
func (s Observation) Bounded() Observation {
	s.CwdBorn, s.Made, s.Event = past(s.CwdBorn), past(s.Made), Bounded(s.Event)
	return s
}

// Tellable reports whether a time can be written as JSON, in UTC.
func Tellable(t time.Time) bool { return t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 }
