package resume

import (
	"cmp"
	"fmt"
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
// of the provider's clock and stays, unless it is counted from our own; what else holds it back is checked again.
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
	s.NotBefore = time.Time{}
	return s.reconsidered(r, now)
}

// Missed reports whether the session would have been resumed long ago, had a daemon
// run since then. What waited for its turn while the daemon ran missed
// nothing by that.
func (s Session) Missed(since time.Time, r Rules, now time.Time) bool {
	if r.Overdue == 0 || s.Over() || !s.RetryAskedAt.IsZero() {
		return false
	}
	return now.Sub(later(s.dueAt(), since)) > r.Overdue
}

// dueAt returns when the session's wait ends or ended; for a resume that is being sent, when it began.
func (s Session) dueAt() time.Time { return cmp.Or(s.NextAt, s.LastStart()) }

// late marks a refusal that is read so long after its time that no daemon can have
// run then.
func (s Session) late(r Rules, now time.Time) Session {
	s.MissedAt = time.Time{}
	if at := later(s.LimitedAt, s.Limit.Reset.At); s.State == Waiting && r.Overdue > 0 && now.Sub(at) > r.Overdue {
		s.MissedAt = at
	}
	return s
}

// Overdue says why the session is not resumed without being asked about, or "".
func (s Session) Overdue(now time.Time) string {
	if s.MissedAt.IsZero() {
		return ""
	}
	what := "it was to be resumed"
	if reset := s.Limit.Reset; reset.Stated() && !reset.At.After(now) {
		what = "its reset was"
	}
	return fmt.Sprintf("%s %s, and resumed was not running (resume.overdue): %s continues it",
		what, ago(now.Sub(s.MissedAt)), s.retry())
}

func (s Session) reconsidered(r Rules, now time.Time) Session {
	if r.Overdue == 0 {
		s.MissedAt = time.Time{}
	}
	switch s.State {
	case Settling:
		s.NextAt = s.WaitFrom.Add(r.Settle)
		return s
	case Waiting:
		return s.scheduleAgain(r, now)
	case Parked:
		return s.reopened(r, now)
	default:
		return s
	}
}
