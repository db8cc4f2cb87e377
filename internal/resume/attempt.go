package resume

import (
	"slices"
	"time"
)

// runs reports whether the resume of that mark is the one that runs.
func (s Session) runs(mark string) bool { return s.Run != nil && s.Run.Mark == mark }

// last returns the latest attempt; zero: there was none.
func (s Session) last() Attempt {
	if len(s.Attempts) == 0 {
		return Attempt{}
	}
	return s.Attempts[len(s.Attempts)-1]
}

// withLast returns the session with its latest attempt changed.
func (s Session) withLast(change func(*Attempt)) Session {
	if n := len(s.Attempts); n > 0 {
		s.Attempts = slices.Clone(s.Attempts)
		change(&s.Attempts[n-1])
	}
	return s
}

// conclude writes the outcome of the last attempt, if it has none.
func (s Session) conclude(how Outcome, err string, now time.Time) Session {
	if was := s.last().Outcome; was != "" && !(was == Failed && how == LimitedOut) {
		// Whether a command failed because of the limit is known only when its record is read.
		return s
	}
	return s.withLast(func(last *Attempt) {
		last.Outcome, last.Err = how, err
		if last.EndedAt.IsZero() {
			last.EndedAt = now
		}
	})
}

// models notes what the last attempt may continue with, or continued with.
func (s Session) models(m Models) Session {
	if s.last().Models == m {
		return s
	}
	return s.withLast(func(last *Attempt) { last.Models = m })
}

// Tries returns how many resumes there were since the transcript last moved.
func (s Session) Tries() int { return s.last().N }

// LastStart returns when the last resume was started; zero: there was none.
func (s Session) LastStart() time.Time { return s.last().StartedAt }

// archived makes the attempts those of the interruption before.
func (s Session) archived() Session {
	if len(s.Attempts) > 0 {
		s.Past, s.Attempts = s.Attempts, nil
	}
	return s
}

// Tried returns the attempt of that mark, also of one that has moved the
// session already.
func (s Session) Tried(mark string) (Attempt, bool) {
	for _, a := range slices.Concat(s.Attempts, s.Past) {
		if a.Mark == mark {
			return a, true
		}
	}
	return Attempt{}, false
}

// DeniedAt reports whether what was written at that time is the work of a
// resume that was refused a permission and ended with that: the session is still
// where that one left it.
func (s Session) DeniedAt(at time.Time) bool {
	return slices.ContainsFunc(slices.Concat(s.Attempts, s.Past), func(a Attempt) bool {
		return a.Outcome == Denied && a.during(at)
	})
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

// denied parks a session whose resume was refused a permission and ended with
// that: the next one would be refused it too, and no person would know. That the
// transcript moved before does not make it a recovery.
func (s Session) denied(ev Ended, now time.Time) Session {
	if s.movedBy(ev.Mark) {
		s.Attempts, s.Past = s.Past, nil
	} else if s.State != Resuming {
		return s // a limit was met since, or the session is a person's again
	}
	s = s.withLast(func(last *Attempt) { last.Outcome, last.Err, last.EndedAt = Denied, ev.Err, now })
	s.RetryAskedAt = time.Time{}
	return s.park(ev.Err)
}

// rest ends the interruption: the session is its user's again.
func (s Session) rest(now time.Time, why string) Session {
	if s.Interrupted() {
		s.RecoveredAt = now
	}
	if !s.Run.sent() {
		s.Run = nil // it is about to be sent, and need not be
	}
	s = s.archived()
	s.State, s.Reason, s.Interruption = Watching, why, Interruption{}
	return s
}

// park leaves the session to a person.
func (s Session) park(why string) Session {
	s.State, s.NextAt, s.Reason = Parked, time.Time{}, why
	return s
}

// settle waits for the transcript to move, after a command that did what it was asked.
func (s Session) settle(r Rules, now time.Time) Session {
	s.State, s.WaitFrom, s.NextAt = Settling, now, now.Add(r.Settle)
	return s
}
