package resume

import (
	"fmt"
	"time"
)

// Missed reports whether the session would have been resumed long ago, had anybody
// been there since then. What waited for its turn while the daemon ran missed
// nothing by that.
func (s Session) Missed(since time.Time, r Rules, now time.Time) bool {
	switch {
	case r.Overdue == 0 || s.Over() || !s.RetryAskedAt.IsZero():
		return false
	default:
		return now.Sub(later(s.dueAt(), since)) > r.Overdue
	}
}

// dueAt returns when the session's wait ends, or ended.
func (s Session) dueAt() time.Time {
	if s.NextAt.IsZero() {
		return s.LastStart() // it was about to be sent, or was
	}
	return s.NextAt
}

// late marks a refusal that is read so long after its time that nobody can have
// been there.
func (s Session) late(r Rules, now time.Time) Session {
	s.MissedAt = time.Time{}
	if at := later(s.LimitedAt, s.Limit.Reset.At); s.State == Waiting && r.Overdue > 0 && now.Sub(at) > r.Overdue {
		s.MissedAt = at
	}
	return s
}

// Overdue says why the session is not resumed without being asked about, or "".
func (s Session) Overdue(now time.Time) string {
	if s.MissedAt.IsZero() {
		return ""
	}
	what := "it was to be resumed"
	if reset := s.Limit.Reset; reset.Stated() && !reset.At.After(now) {
		what = "its reset was"
	}
	return fmt.Sprintf("%s %s, and resumed was not running (resume.overdue): %s continues it",
		what, ago(now.Sub(s.MissedAt)), s.retry())
}

// ago says how long something is over, in whole hours or days.
func ago(d time.Duration) string {
	n, unit := int(d.Hours()), "hour"
	if n >= 48 {
		n, unit = n/24, "day"
	}
	if n == 0 {
		n, unit = int(d.Minutes()), "minute"
	}
	return fmt.Sprintf("%d %s ago", n, plural(n, unit))
}
