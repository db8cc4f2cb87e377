package resume

import "time"

// occupied notes who holds the session while it waits.
func (s Session) occupied(ev Occupied) Session {
	if s.State != Waiting || s.Run != nil {
		return s
	}
	s.Owner, s.Told = &ev.Owner, s.Told || ev.Tell
	if s.Unreached != ev.Unreached {
		s.Unreached = ev.Unreached
		s.Reason = s.cause("")
	}
	return s
}

// released goes on where a process that is gone was all that stood in the way.
func (s Session) released(r Rules, now time.Time) Session {
	if s.Owner == nil || s.Run != nil {
		return s
	}
	heldBack := s.State == Waiting || s.State == Parked && s.Unreached != "" && s.Reason == s.Unreached
	s.Owner, s.Unreached, s.Told = nil, "", false
	if !heldBack {
		return s
	}
	s.Hold = time.Time{}
	return s.schedule(r, now)
}
