package resume

import (
	"time"
)

// OnClosed is what is done about a session whose user closed the agent after it was
// stopped.
type OnClosed string

// What may be done.
const (
	ResumeClosed OnClosed = "resume" // it goes on without a terminal when its time has come
	LeaveClosed  OnClosed = "leave"  // it is its user's to go on with
)

// occupied notes who holds the session while it waits.
func (s Session) occupied(ev Occupied) Session {
	if s.State != Waiting || s.Run != nil {
		return s
	}
	s.Owner, s.Told, s.ClosedAt = &ev.Owner, s.Told || ev.Tell, time.Time{}
	if s.Unreached != ev.Unreached {
		s.Unreached = ev.Unreached
		s.Reason = s.cause("")
	}
	return s
}

// released goes on where a process that is gone was all that stood in the way.
func (s Session) released(ev Released, r Rules, now time.Time) Session {
	if s.Owner == nil || s.Run != nil {
		return s
	}
	heldBack := s.State == Waiting || s.State == Parked && s.Unreached != "" && s.Reason == s.Unreached
	s.Owner, s.Unreached, s.Told = nil, "", false
	if !heldBack {
		return s
	}
	if ev.Closed {
		s.ClosedAt = now
	}
	s.Hold = time.Time{}
	return s.schedule(r, now)
}

// left reports whether the session is left to its user, who has closed it. Who asks
// for it all the same gets it.
func (s Session) left(r Rules) bool {
	return r.Closed == LeaveClosed && !s.ClosedAt.IsZero() && s.RetryAskedAt.IsZero()
}

func (s Session) leftWhy() string {
	return "you closed it after it was stopped, so it is left to you (resume.closed): " + s.retry() + " continues it"
}

// reopened goes on with a session that was left to its user by rules of before.
func (s Session) reopened(r Rules, now time.Time) Session {
	if s.ClosedAt.IsZero() || s.left(r) || s.Reason != s.leftWhy() {
		return s
	}
	return s.schedule(r, now)
}
