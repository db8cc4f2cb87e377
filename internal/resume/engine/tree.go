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
type tree[T any] struct{ *btree.BTreeG[T] }

func newTree[T any](compare func(a, b T) int) tree[T] {
	const degree = 32
	return tree[T]{btree.NewG(degree, func(a, b T) bool { return compare(a, b) < 0 })}
}

// from returns the values that are not less than v, in order. They must not change meanwhile.
func (t tree[T]) from(v T) iter.Seq[T] {
	return func(yield func(T) bool) { t.AscendGreaterOrEqual(v, yield) }
}

// index has a value for each of some sessions, and the sorted values.
type index[T any] struct {
	of map[resume.Key]T
	tree[T]
}

func newIndex[T any](compare func(a, b T) int) index[T] {
	return index[T]{make(map[resume.Key]T), newTree(compare)}
}

// set sets the value of a session.
func (x *index[T]) set(key resume.Key, v T) {
	x.drop(key)
	x.of[key] = v
	x.ReplaceOrInsert(v)
}

// drop removes the value of a session, if it has one.
func (x *index[T]) drop(key resume.Key) {
	if was, known := x.of[key]; known {
		delete(x.of, key)
		x.Delete(was)
	}
}

// instant is when something happens to a session.
type instant struct {
	at  time.Time
	key resume.Key
}

func (a instant) compare(b instant) int { return cmp.Or(a.at.Compare(b.at), compareKeys(a.key, b.key)) }

// timers finds the session with the earliest deadline.
type timers struct{ index[instant] }

// at sets the deadline of a session; the zero time removes it.
func (t *timers) at(key resume.Key, at time.Time) {
	if at.IsZero() {
		t.drop(key)
	} else {
		t.set(key, instant{at, key})
	}
}

// wallNow returns the time without its monotonic reading, which stops while the machine sleeps.
func wallNow() time.Time { return time.Now().Round(0) }

// compareKeys orders by id first, so that ids with the same prefix are neighbours.
func compareKeys(a, b resume.Key) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Agent, b.Agent))
}
