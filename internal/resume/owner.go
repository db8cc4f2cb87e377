package resume

import "time"

// occupied notes which process holds the session while it waits.
func (s Session) occupied(ev Occupied) Session {
	if s.State != Waiting || s.Run != nil {
		return s
	}
	s.Owner, s.Reported, s.ClosedAt = &ev.Owner, s.Reported || ev.Tell, time.Time{}
	if s.Unreached != ev.Unreached {
		s.Unreached = ev.Unreached
		s.Reason = s.cause("")
	}
	return s
}

// released computes the wait anew if a process that is gone was all that held the session back.
func (s Session) released(ev Released, r Rules, now time.Time) Session {
	if s.Owner == nil || s.Run != nil {
		return s
	}
	heldBack := s.State == Waiting || s.State == Parked && s.Unreached != "" && s.Reason == s.Unreached
	s.Owner, s.Unreached, s.Reported = nil, "", false
	if !heldBack {
		return s
	}
	if ev.Closed {
		s.ClosedAt = now
	}
	s.NotBefore = time.Time{}
	return s.schedule(r, now)
}

// reopened computes a wait for a session that was left to its user by earlier rules.
func (s Session) reopened(r Rules, now time.Time) Session {
	if s.ClosedAt.IsZero() || s.left(r) || s.Reason != s.leftWhy() {
		return s
	}
	return s.schedule(r, now)
}
