package resume

import (
	"time"

	"resumed/internal/limit"
)

func (s Session) learned(ev Learned, r Rules, now time.Time) Session {
	if ev.Origin != nil && s.MayBeOf(*ev.Origin) {
		s.Origin = ev.Origin.Since(s.Origin)
		if s.Needs == StartUnseen && s.StartedWith().Seen() {
			s = s.schedule(r, now)
		}
	}
	if ev.Continues != nil && s.Allowed != nil && s.Allowed.For == nil {
		s.Allowed = &Word{For: ev.Continues}
	}
	if ev.Context != nil {
		s = s.weighed(*ev.Context, r, now)
	}
	if ev.Usage != nil {
		s = s.metered(*ev.Usage, r, now)
	}
	if ev.Subagents != nil {
		s = s.withSubagents(*ev.Subagents)
	}
	return s.WithKind(ev.Kind)
}

// weighed sets the size of the context, and reports it to a person if the rules want that.
func (s Session) weighed(size Context, r Rules, now time.Time) Session {
	s.Context = size
	s.Context.At = Earlier(size.At, now)
	if s.State != Waiting || s.Reported || r.OnCold != TellCold {
		return s
	}
	if s.readsTooMuch(r, s.NextAt) {
		s.Reported, s.Reason = true, s.readsAgain(WhyColdTold, r)
	}
	return s
}

// metered sets the usage, and changes the wait if the usage was not known when the wait began.
func (s Session) metered(usage Usage, r Rules, now time.Time) Session {
	if usage.At = Earlier(usage.At, now); usage.At.Before(s.Usage.At) {
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

// WithKind returns the session with this kind. A session that was once interactive stays so, whatever
// continued it since.
func (s Session) WithKind(kind string) Session {
	if kind != "" && s.Kind != Interactive {
		s.Kind = kind
	}
	return s
}

// lifted makes a session due that waits for the reset of a limit which is over.
func (s Session) lifted(ev Lifted, r Rules, now time.Time) Session {
	if s.State != Waiting || !s.RetryAskedAt.IsZero() || !ev.At.After(s.LimitedAt) || !s.LiftedAt.IsZero() {
		return s
	}
	s.LiftedAt = ev.At
	s = s.schedule(r, now)
	if s.State == Waiting {
		s.Reason = Reason{Kind: WhyLiftedEarly, At: stored(s.Limit.Reset.At), By: ev.By.ID}
	}
	return s
}
