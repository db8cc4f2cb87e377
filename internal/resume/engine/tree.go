package engine

import (
	"cmp"
	"iter"
	"strings"
	"time"

	"github.com/google/btree"

	"resumed/internal/resume"
)

// tree is a sorted set of values.
type tree[T any] struct {
	*btree.BTreeG[T]
	visited int // values that from has yielded, counted for tests
}

func newTree[T any](compare func(a, b T) int) *tree[T] {
	const degree = 32
	return &tree[T]{BTreeG: btree.NewG(degree, func(a, b T) bool { return compare(a, b) < 0 })}
}

// from returns the values that are not less than v, in order. They must not change meanwhile.
func (t *tree[T]) from(v T) iter.Seq[T] {
	return func(yield func(T) bool) {
		t.AscendGreaterOrEqual(v, func(one T) bool {
			t.visited++
			return yield(one)
		})
	}
}

// instant is when something happens to a session.
type instant struct {
	at  time.Time
	key resume.Key
}

func (a instant) compare(b instant) int { return cmp.Or(a.at.Compare(b.at), compareKeys(a.key, b.key)) }

// timers finds the session with the earliest deadline.
type timers struct {
	of    map[resume.Key]time.Time
	order *tree[instant]
}

func newTimers() timers {
	return timers{of: make(map[resume.Key]time.Time), order: newTree(instant.compare)}
}

// set sets the deadline of a session; the zero time removes it.
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

// wallNow returns the time without its monotonic reading, which stops while the machine sleeps.
func wallNow() time.Time { return time.Now().Round(0) }

// compareKeys orders by id first, so that ids with the same prefix are neighbours.
func compareKeys(a, b resume.Key) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Agent, b.Agent))
}
