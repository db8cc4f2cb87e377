package resume

import "time"

// who names where an order comes from: another machine, or the reader.
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
	s = s.archived()
	s.Paid, s.Windows, s.Reported = nil, 0, false
	s.NotBefore, s.MissedAt, s.ClosedAt = time.Time{}, time.Time{}, time.Time{}
	s.RetryAskedAt, s.WaitFrom, s.StoppedAt, s.GivesUpAt = now, now, now, time.Time{}
	s.State, s.NextAt = Waiting, now
	s.Reason = "due now, asked for by " + who(by)
	if r.NextAllowed != nil {
		s.NextAt = r.NextAllowed(now)
	}
	return s
}

// expired ends an interruption that no person has cared for.
func (s Session) expired(now time.Time) Session {
	switch s.State {
	case GaveUp:
		return s.rest(now, "forgotten: it gave up longer ago than history.ended_keep")
	case Parked:
		return s.rest(now, "forgotten: it was parked longer ago than history.ended_keep")
	default:
		return s
	}
}
