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

// windows are the windows of an account, sorted by their end. Thousands of sessions may be stopped, and
// each step of each of them asks for the next end.
type windows struct {
	of   map[resume.Key]window
	all  *tree[window]
	ends *tree[window] // those with limits
	bars *tree[window] // those of ends that are not known to be disproved by a movement
}

func newWindows() windows {
	byEnd := func(a, b window) int { return cmp.Or(a.lifts.Compare(b.lifts), compareKeys(a.key, b.key)) }
	return windows{of: make(map[resume.Key]window), all: newTree(byEnd), ends: newTree(byEnd), bars: newTree(byEnd)}
}

// note stores the window that stopped a session, if any.
func (w *windows) note(s resume.Session) {
	if !s.Interrupted() || !s.Limit.Reset.Stated() || s.Paid != nil { // a refusal of the user's own key says nothing about the account
		w.drop(s.Key)
		return
	}
	now := window{s.Key, s.LimitedAt, s.Limit.Reset.At, limits(s.Limit.Class)}
	if was, known := w.of[s.Key]; known && was == now {
		return
	}
	w.drop(s.Key)
	w.of[s.Key] = now
	if w.all.ReplaceOrInsert(now); now.limits {
		w.ends.ReplaceOrInsert(now)
		w.bars.ReplaceOrInsert(now)
	}
}

// drop removes the window of a session.
func (w *windows) drop(key resume.Key) {
	was, known := w.of[key]
	if !known {
		return
	}
	delete(w.of, key)
	w.all.Delete(was)
	w.ends.Delete(was)
	w.bars.Delete(was)
}

// opensAt returns the earliest end after now; zero: none.
func (w *windows) opensAt(now time.Time) time.Time {
	for one := range w.ends.from(window{lifts: now.Add(1)}) {
		return one.lifts
	}
	return time.Time{}
}

// bar returns the earliest end after now that may apply to all sessions: none has moved since it was
// stated. Zero: none. A window that a movement has disproved stays so, and is not checked again.
func (w *windows) bar(now, movedAt time.Time) (at time.Time) {
	var disproved []window
	for one := range w.bars.from(window{lifts: now.Add(1)}) {
		if !movedAt.After(one.statedAt) {
			at = one.lifts
			break
		}
		disproved = append(disproved, one)
	}
	for _, one := range disproved {
		w.bars.Delete(one)
	}
	return at
}

// around returns the sessions with a window that ends close to that time.
func (w *windows) around(end time.Time, near time.Duration) (keys []resume.Key) {
	for one := range w.all.from(window{lifts: end.Add(-near)}) {
		if one.lifts.Sub(end) > near {
			break
		}
		keys = append(keys, one.key)
	}
	return keys
}

// limits reports whether a refusal of this class says that an allowance is used up.
func limits(c limit.Class) bool { return c == limit.UsageLimit || c == limit.RateLimit }
