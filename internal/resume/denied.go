package resume

import (
	"slices"
	"time"
)

// denied parks a session whose resume was refused a permission and ended with
// that: the next one would be refused it too, and nobody would know. That the
// transcript moved before does not make it a recovery.
func (s Session) denied(ev Ended, now time.Time) Session {
	if s.movedBy(ev.Mark) {
		s.Attempts, s.Past = slices.Clone(s.Past), nil
	} else if s.State != Resuming {
		return s // a limit was met since, or the session is a person's again
	}
	s.Attempts = slices.Clone(s.Attempts)
	if last := s.last(); last != nil {
		last.Outcome, last.Err, last.EndedAt = Denied, ev.Err, now
	}
	s.State, s.NextAt, s.RetryAskedAt, s.Reason = Parked, time.Time{}, time.Time{}, ev.Err
	return s
}

// movedBy reports whether the session was given back to its user because the
// resume of that mark moved it.
func (s Session) movedBy(mark string) bool {
	if s.State != Watching || len(s.Past) == 0 {
		return false
	}
	last := s.Past[len(s.Past)-1]
	return last.Mark == mark && last.Outcome == Recovered
}

// DeniedAt reports whether what was written at that time is the work of a
// resume that was refused a permission and ended with that: the session stands
// where it was left.
func (s Session) DeniedAt(at time.Time) bool {
	for _, attempts := range [][]Attempt{s.Attempts, s.Past} {
		for _, a := range attempts {
			if a.Outcome == Denied && !at.Before(a.StartedAt.Add(-slack)) && !at.After(a.EndedAt.Add(slack)) {
				return true
			}
		}
	}
	return false
}
