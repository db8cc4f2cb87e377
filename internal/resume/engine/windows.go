package engine

import (
	"cmp"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// window is a limit of which a session that it stopped was told when it lifts. A
// movement of another session disproves none: limits are also of a model.
type window struct {
	key             resume.Key
	statedAt, lifts time.Time
	limits          bool // an allowance is used up; otherwise something is out of order
}

// windows are those of an account, by when they end. Thousands of sessions may be
// stopped, and it is asked at each step of each of them who is free next.
type windows struct {
	of   map[resume.Key]window
	all  *tree[window]
	ends *tree[window] // of allowances
	bars *tree[window] // those of them that no movement has disproved, as far as was looked
}

func newWindows() windows {
	byEnd := func(a, b window) int { return cmp.Or(a.lifts.Compare(b.lifts), compareKeys(a.key, b.key)) }
	return windows{of: make(map[resume.Key]window), all: newTree(byEnd), ends: newTree(byEnd), bars: newTree(byEnd)}
}

// note learns which window has stopped a session, if any.
func (w *windows) note(s resume.Session) {
	if !s.Interrupted() || !s.Limit.Reset.Stated() || s.Paid != nil { // what a key is refused is no account's
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

// drop learns that none stops the session.
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

// opensAt returns the earliest end that lies after now; zero: there is none.
func (w *windows) opensAt(now time.Time) time.Time {
	for one := range w.ends.from(window{lifts: now.Add(1)}) {
		return one.lifts
	}
	return time.Time{}
}

// bar returns the earliest end after now that no movement since has shown not to be
// everybody's; zero: there is none. What a movement has disproved stays so, and is
// not looked at again.
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

// around returns the sessions that were told an end close to that one.
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
