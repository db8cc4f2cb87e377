package resume

import (
	"time"
)

// Over reports whether nothing becomes of the interruption without a person.
func (s Session) Over() bool { return s.State == GaveUp || s.State == Parked }

// QuietSince returns when a session that was never interrupted last moved, as
// far as is known.
func (s Session) QuietSince() time.Time {
	if s.MovedAt.IsZero() {
		return s.FoundAt
	}
	return s.MovedAt
}

// expired ends an interruption that nobody has cared for.
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
