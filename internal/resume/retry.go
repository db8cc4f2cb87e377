package resume

import (
	"time"
)

// who names the one that asks for something: another machine, or the reader.
func who(machine string) string {
	if machine == "" {
		return "you"
	}
	return "machine " + machine
}

// retried makes an interrupted session due now, with its account.
func (s Session) retried(by string, r Rules, now time.Time) Session {
	switch s.State {
	case Waiting, GaveUp, Parked:
	default:
		return s
	}
	if why := r.Excluded(s.Cwd); why != "" {
		s.Reason = why // what a directory was excluded for counts more than haste
		return s
	}
	if len(s.Attempts) > 0 {
		s.Past = s.Attempts
	}
	s.Attempts, s.Windows, s.Hold, s.Told, s.MissedAt, s.ClosedAt = nil, 0, time.Time{}, false, time.Time{}, time.Time{}
	s.Paid = nil
	s.RetryAskedAt, s.WaitFrom, s.StoppedAt, s.GivesUpAt = now, now, now, time.Time{}
	s.State, s.NextAt = Waiting, now
	s.Reason = "due now, asked for by " + who(by)
	if r.NextAllowed != nil {
		s.NextAt = r.NextAllowed(now)
	}
	return s
}
