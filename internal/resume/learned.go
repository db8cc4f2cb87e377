package resume

import (
	"time"

	"resumed/internal/limit"
)

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
