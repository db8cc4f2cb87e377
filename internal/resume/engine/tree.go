package engine

import (
	"cmp"
	"iter"
	"strings"
	"time"

	"github.com/google/btree"

	"resumed/internal/resume"
)

// tree holds values in order. No two of them compare equal.
type tree[T any] struct {
	*btree.BTreeG[T]
	visited int // values that from has yielded: tests count them
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

// wallNow returns the time without its monotonic reading, which stands still
// while the machine sleeps.
func wallNow() time.Time { return time.Now().Round(0) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// compareKeys orders sessions so that those whose ids share most stand together.
func compareKeys(a, b resume.Key) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Agent, b.Agent))
}
