package resume

import (
	"slices"
	"time"

	"resumed/internal/limit"
)

// Latest returns when something last happened to the session.
func (s Session) Latest() time.Time {
	happened := []time.Time{s.LimitedAt, s.MovedAt, s.BornAt, s.FoundAt, s.RecoveredAt, s.WaitFrom, s.RetryAskedAt, s.LastStart()}
	return slices.MaxFunc(happened, time.Time.Compare)
}

// counted returns a reset that was said at a time which lies ahead now: a duration counts from
// now on.
func counted(reset limit.Reset, said, now time.Time) limit.Reset {
	if ahead := said.Sub(now); reset.Counted && !said.IsZero() && ahead > 0 {
		reset.At = reset.At.Add(-ahead)
	}
	return reset
}

// rewound is the session after the clock was set back. A stated reset is a time
// of the provider's clock and stays, unless it is counted from our own; what else holds it back is looked at again.
func (s Session) rewound(r Rules, now time.Time) Session {
	s.Limit.Reset = counted(s.Limit.Reset, s.LimitedAt, now)
	for _, t := range []*time.Time{&s.LimitedAt, &s.StoppedAt, &s.MovedAt, &s.BornAt, &s.FoundAt, &s.RecoveredAt, &s.WaitFrom, &s.RetryAskedAt} {
		*t = earlier(*t, now)
	}
	s.Attempts = slices.Clone(s.Attempts)
	for i := range s.Attempts {
		a := &s.Attempts[i]
		a.StartedAt, a.EndedAt = earlier(a.StartedAt, now), earlier(a.EndedAt, now)
	}
	s.Hold = time.Time{}
	return s.reconsidered(r, now)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
