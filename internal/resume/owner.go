package resume

import "time"

func (s Session) occupied(ev Occupied) Session {
	if s.State != Waiting || s.Run != nil {
		return s
	}
	s.Owner, s.Reported, s.ClosedAt = &ev.Owner, s.Reported || ev.Tell, time.Time{}
	if s.Unreached != ev.Unreached {
		s.Unreached = ev.Unreached
		s.Reason = Because(WhyStopped)
	}
	return s
}

// Unattended reports whether the session works again, and no person has given it a prompt since.
func (s Session) Unattended() bool {
	return s.State == Watching && s.WorksAlone
}

// asks parks a session that asks for something, until that is answered. Without a hook, only sessions count that work
// unattended.
func (s Session) asks(ev Asked, now time.Time) Session {
	switch {
	case ev.For == s.Asks:
		return s
	case s.Unattended() || ev.Attended && s.State == Watching:
		s.Asks, s.Owner = ev.For, nil
		if ev.Owner.PID > 0 {
			s.Owner = &ev.Owner
		}
		return s.park(Because(WhyAsks))
	default:
		return s.answered(now)
	}
}

func (s Session) answered(now time.Time) Session {
	if s.Asks == "" {
		return s
	}
	if !s.WorksAlone {
		return s.unparked(now, Because(WhyAnswered))
	}
	s = s.rest(now, Because(WhyAnswered))
	s.WorksAlone = true // as before
	return s
}

func (s Session) unparked(now time.Time, why Reason) Session {
	before := s
	s = s.rest(now, why)
	s.RecoveredAt, s.WorksAlone = before.RecoveredAt, before.WorksAlone
	return s
}

// released computes the wait again if only a process that has ended held the session back.
func (s Session) released(ev Released, r Rules, now time.Time) Session {
	if ev.Cleared && s.Interrupted() && s.Run == nil {
		return s.rest(now, Because(WhyCleared))
	}
	if s.Owner == nil || s.Run != nil {
		return s
	}
	if s.Asks != "" {
		return s.rest(now, Because(WhyNotAsking))
	}
	if !s.SilentAt.IsZero() {
		return s.unparked(now, Because(WhyProcessEnded))
	}
	heldBack := s.State == Waiting || s.State == Parked && s.Reason.Kind == WhyUnreachable
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
