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

// counted corrects a reset that was stated as a duration, if the record's time is later than now: the
// duration then counts from now.
func counted(reset limit.Reset, said, now time.Time) limit.Reset {
	if ahead := said.Sub(now); reset.Counted && !said.IsZero() && ahead > 0 {
		reset.At = reset.At.Add(-ahead)
	}
	return reset
}

// rewound is the session after the clock was set back. A stated reset comes from the provider's clock
// and stays, unless it was computed from our clock. NotBefore is dropped and the wait computed again.
func (s Session) rewound(r Rules, now time.Time) Session {
	s.Limit.Reset = counted(s.Limit.Reset, s.LimitedAt, now)
	for _, t := range []*time.Time{&s.LimitedAt, &s.StoppedAt, &s.MovedAt, &s.BornAt, &s.FoundAt, &s.RecoveredAt, &s.WaitFrom, &s.RetryAskedAt} {
		*t = Earlier(*t, now)
	}
	s.Attempts = slices.Clone(s.Attempts)
	for i := range s.Attempts {
		a := &s.Attempts[i]
		a.StartedAt, a.EndedAt = Earlier(a.StartedAt, now), Earlier(a.EndedAt, now)
	}
	s.NotBefore = time.Time{}
	return s.reconsidered(r, now)
}

// Missed reports whether the session would have been resumed long ago if a daemon had run since then. A
// session that was due and waited while the daemon ran has missed nothing.
func (s Session) Missed(since time.Time, r Rules, now time.Time) bool {
	if r.Overdue == 0 || s.Over() || !s.RetryAskedAt.IsZero() {
		return false
	}
	return now.Sub(Later(s.dueAt(), since)) > r.Overdue
}

// dueAt returns when the wait of the session ends or ended, or when the resume that is being sent
// began.
func (s Session) dueAt() time.Time { return cmp.Or(s.NextAt, s.LastStart()) }

// late sets MissedAt if the refusal is read so late that no daemon can have run at its time.
func (s Session) late(r Rules, now time.Time) Session {
	s.MissedAt = time.Time{}
	if at := Later(s.LimitedAt, s.Limit.Reset.At); s.State == Waiting && r.Overdue > 0 && now.Sub(at) > r.Overdue {
		s.MissedAt = at
	}
	return s
}

// Overdue says why the session waits for a person's answer before it is resumed, or "".
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
	case Waiting:
		return s.scheduleAgain(r, now)
	case Parked:
		if !s.ClosedAt.IsZero() && !s.left(r) && s.Reason == s.leftWhy() { // earlier rules left it to its user
			return s.schedule(r, now)
		}
	default:
	}
	return s
}
