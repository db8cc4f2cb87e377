package resume

import (
	"time"

	"resumed/internal/limit"
)

// near is how far away a window may end that somebody is held back for who waits
// for something else. One of days may be of a model that they do not use.
const near = 6 * time.Hour

// Heed is whether a session that is due cares for a window of its account of which
// another one was told.
type Heed uint8

const (
	never    Heed = iota // who was told a time itself goes by that, and a person who asks for a try gets one
	always               // it would only run into it
	whenNear             // where it does not end too far away
)

// Heed says whether the session cares for a window of which another session was told.
func (s Session) Heed() Heed {
	switch {
	case !s.RetryAskedAt.IsZero():
		return never
	case s.Pending():
		return always // it is begun when there is room
	case s.Limit.Class == limit.UsageLimit && !s.Limit.Reset.Stated():
		return always
	case s.Limit.Class == limit.UsageLimit, s.Limit.Class == limit.RateLimit && s.Limit.Reset.Stated():
		return never
	default:
		return whenNear
	}
}

// Holds reports whether a window that ends then holds the session back.
func (h Heed) Holds(bar, now time.Time) bool {
	return !bar.IsZero() && (h == always || h == whenNear && bar.Sub(now) <= near)
}

// Heeds reports whether the session waits for a limit of its account of which another host
// was told. A person who asks for a try gets one; and one of days may be of a model that the session
// does not use.
func (s Session) Heeds(lifts, now time.Time) bool {
	switch {
	case !s.RetryAskedAt.IsZero():
		return false
	case s.Heed() == always:
		return true
	default:
		return lifts.Sub(now) <= near
	}
}
