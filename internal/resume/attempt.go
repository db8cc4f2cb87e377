package resume

import (
	"slices"
	"time"
)

// conclude writes the outcome of the last attempt, where it has none.
func (s Session) conclude(how Outcome, err string, now time.Time) Session {
	last := s.last()
	if last == nil || (last.Outcome != "" && !(last.Outcome == Failed && how == LimitedOut)) {
		// A command that failed because of the limit is told apart from one
		// that failed by itself only when its record is read.
		return s
	}
	s.Attempts = slices.Clone(s.Attempts)
	last = s.last()
	last.Outcome, last.Err = how, err
	if last.EndedAt.IsZero() {
		last.EndedAt = now
	}
	return s
}

// models notes what the last attempt may go on with, or went on with.
func (s Session) models(m Models) Session {
	if last := s.last(); last != nil && last.Models != m {
		s.Attempts = slices.Clone(s.Attempts)
		s.last().Models = m
	}
	return s
}

// last returns the latest attempt, or nil.
func (s Session) last() *Attempt {
	if len(s.Attempts) == 0 {
		return nil
	}
	return &s.Attempts[len(s.Attempts)-1]
}

// Tries returns how many resumes there were since the transcript last moved.
func (s Session) Tries() int {
	if last := s.last(); last != nil {
		return last.N
	}
	return 0
}

func (s Session) lastErr() string {
	if last := s.last(); last != nil {
		return last.Err
	}
	return ""
}

// LastStart returns when the last resume was started; zero: there was none.
func (s Session) LastStart() time.Time {
	if last := s.last(); last != nil {
		return last.StartedAt
	}
	return time.Time{}
}

// Tried returns the attempt of that mark, also of one that has moved the
// session already.
func (s Session) Tried(mark string) (Attempt, bool) {
	for _, attempts := range [][]Attempt{s.Attempts, s.Past} {
		for _, a := range attempts {
			if a.Mark == mark {
				return a, true
			}
		}
	}
	return Attempt{}, false
}
