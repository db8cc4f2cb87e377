package engine

import (
	"cmp"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/google/btree"

	"resumed/internal/resume"
)

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

func (x *index[T]) set(key resume.Key, v T) {
	x.drop(key)
	x.of[key] = v
	x.ReplaceOrInsert(v)
}

func (x *index[T]) drop(key resume.Key) {
	if was, known := x.of[key]; known {
		delete(x.of, key)
		x.Delete(was)
	}
}

type instant struct {
	at  time.Time
	key resume.Key
}

func (a instant) compare(b instant) int { return cmp.Or(a.at.Compare(b.at), compareKeys(a.key, b.key)) }

type timers struct{ index[instant] }

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

type queue struct{ index[queued] }

type queued struct {
	key    resume.Key
	rank   int    // of its directory
	place  int    // 0: a stopped session, which goes before tasks of its rank; otherwise the place of the task
	tokens int64  // then the smaller context goes first
	turn   int64  // then by when it was stopped
	holdup holdup // zero: none is known yet
}

// holdup is a reason that holds back sessions. If one of them is still held back for it, all of them
// are: thousands may wait behind one that tries, and each step of each of them may let another one
// start.
type holdup struct {
	account resume.AccountKey
	why     resume.Reason
	heed    resume.SharedLimit
}

func (q *queue) add(s resume.Session, r resume.Rules) {
	tokens := cmp.Or(s.Context.Tokens, math.MaxInt64) // an unknown context may be large
	one := queued{key: s.Key, rank: r.Rank(s.Cwd), tokens: tokens, turn: s.LimitedAt.UnixNano()}
	if r.Order == resume.Newest {
		one.turn = -one.turn
	}
	if s.Pending() {
		one.place = s.Task.Place
	}
	if s.Blocked != nil {
		one.holdup = holdup{s.AccountKey(), s.Reason, s.SharedLimit()}
	}
	q.set(s.Key, one)
}

func (q *queue) next(after queued, skip func(queued) bool) (one queued, found bool) {
	for one := range q.from(after) {
		if one.compare(after) > 0 && !skip(one) {
			return one, true
		}
	}
	return queued{}, false
}

func (a queued) compare(b queued) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.place, b.place), cmp.Compare(a.tokens, b.tokens), cmp.Compare(a.turn, b.turn),
		cmp.Compare(a.key.Agent, b.key.Agent), cmp.Compare(a.key.ID, b.key.ID))
}
