package resume

import "time"

// Owner is a live process that holds a session.
type Owner struct {
	PID  int    `json:"pid"`
	Kind string `json:"kind"`           // Interactive or Headless
	Tmux string `json:"tmux,omitempty"` // the pane it lives in

	// Guessed says that another process may hold it as well: what this one was
	// started with may be another session's.
	Guessed bool `json:"-"`
}

// OnClosed is what is done about a session whose user closed the agent after it was
// stopped.
type OnClosed string

// What may be done.
const (
	ResumeClosed OnClosed = "resume" // it goes on without a terminal when its time has come
	LeaveClosed  OnClosed = "leave"  // it is its user's to go on with
)

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

// left reports whether the session is left to its user, who has closed it. A retry that a person
// asks for is made all the same.
func (s Session) left(r Rules) bool {
	return r.Closed == LeaveClosed && !s.ClosedAt.IsZero() && s.RetryAskedAt.IsZero()
}

func (s Session) leftWhy() string {
	return "you closed it after it was stopped, so it is left to you (resume.closed): " + s.retry() + " continues it"
}

// reopened computes a wait for a session that was left to its user by earlier rules.
func (s Session) reopened(r Rules, now time.Time) Session {
	if s.ClosedAt.IsZero() || s.left(r) || s.Reason != s.leftWhy() {
		return s
	}
	return s.schedule(r, now)
}
