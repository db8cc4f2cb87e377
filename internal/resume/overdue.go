package resume

import (
	"context"
	"fmt"
	"time"
)

// away is how long the engine's loop must have stood still for the daemon to have
// been away: it never sleeps longer than a minute.
const away = 5 * time.Minute

// comeBack lets the interruptions be asked about whose time passed while nobody
// was there to see it: no daemon ran, or the machine slept. Who comes back after
// days may have done the work otherwise, or not want it any more.
func (e *Engine) comeBack(ctx context.Context, since, now time.Time) {
	for s := range e.book.stirring() {
		if s.Interrupted() && s.missed(since, e.opts.Rules, now) {
			e.apply(ctx, s, s, CameBack{Since: since}, now)
		}
	}
}

// missed reports whether the session would have been resumed long ago, had anybody
// been there since then. What waited for its turn while the daemon ran missed
// nothing by that.
func (s Session) missed(since time.Time, r Rules, now time.Time) bool {
	switch {
	case r.Overdue == 0 || s.over() || !s.RetryAskedAt.IsZero():
		return false
	default:
		return now.Sub(later(s.dueAt(), since)) > r.Overdue
	}
}

// dueAt returns when the session's wait ends, or ended.
func (s Session) dueAt() time.Time {
	if s.NextAt.IsZero() {
		return s.lastStart() // it was about to be sent, or was
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
