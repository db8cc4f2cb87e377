package engine

import (
	"cmp"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// window is a limit that stopped a session, with the time at which it lifts as stated to that session.
// If another session moves, that does not disprove it: a limit may be for one model only.
type window struct {
	key             resume.Key
	statedAt, lifts time.Time
	limits          bool // an allowance is used up; otherwise it is an outage
}

// windows are the windows of an account, sorted by their end.
type windows struct{ index[window] }

func newWindows() windows {
	return windows{newIndex(func(a, b window) int { return cmp.Or(a.lifts.Compare(b.lifts), compareKeys(a.key, b.key)) })}
}

// note stores the window that stopped a session, if any.
func (w *windows) note(s resume.Session) {
	if !s.Interrupted() || !s.Limit.Reset.Stated() || s.Paid != nil { // a refusal of the user's own key says nothing about the account
		w.drop(s.Key)
		return
	}
	now := window{s.Key, s.LimitedAt, s.Limit.Reset.At, limits(s.Limit.Class)}
	if w.of[s.Key] != now {
		w.set(s.Key, now)
	}
}

// opensAt returns the earliest end after now of a limit; zero: none.
func (w *windows) opensAt(now time.Time) time.Time { return w.bar(now, time.Time{}) }

// bar returns the earliest end after now that may apply to all sessions: none has moved since it was
// stated. Zero: none.
func (w *windows) bar(now, movedAt time.Time) time.Time {
	for one := range w.from(window{lifts: now.Add(1)}) {
		if one.limits && !movedAt.After(one.statedAt) {
			return one.lifts
		}
	}
	return time.Time{}
}

// around returns the sessions with a window that ends close to that time.
func (w *windows) around(end time.Time, near time.Duration) (keys []resume.Key) {
	for one := range w.from(window{lifts: end.Add(-near)}) {
		if one.lifts.Sub(end) > near {
			break
		}
		keys = append(keys, one.key)
	}
	return keys
}

// limits reports whether a refusal of this class says that an allowance is used up.
func limits(c limit.Class) bool { return c == limit.UsageLimit || c == limit.RateLimit }
