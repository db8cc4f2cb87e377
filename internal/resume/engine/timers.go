package engine

import (
	"cmp"
	"time"

	"resumed/internal/resume"
)

// instant is when something happened to a session, or will.
type instant struct {
	at  time.Time
	key resume.Key
}

func (a instant) compare(b instant) int { return cmp.Or(a.at.Compare(b.at), compareKeys(a.key, b.key)) }

// timers finds the session whose deadline comes first.
type timers struct {
	of    map[resume.Key]time.Time
	order *tree[instant]
}

func newTimers() timers {
	return timers{of: make(map[resume.Key]time.Time), order: newTree(instant.compare)}
}

// set gives the session a deadline; the zero time takes it away.
func (t *timers) set(key resume.Key, at time.Time) {
	if was, known := t.of[key]; known {
		t.order.Delete(instant{was, key})
		delete(t.of, key)
	}
	if !at.IsZero() {
		t.of[key] = at
		t.order.ReplaceOrInsert(instant{at, key})
	}
}
