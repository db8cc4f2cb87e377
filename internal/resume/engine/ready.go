package engine

import (
	"cmp"
	"math"

	"resumed/internal/resume"
)

// queue is the sessions that are due, in the order in which they start.
type queue struct{ index[queued] }

// queued is a session in the queue, with the values that order it.
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
	why     string
	heed    resume.SharedLimit
}

// add puts a session into the queue.
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

// next returns the first session after this one that is not skipped.
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

// rankAnew sorts the queue by new rules.
func (q *queue) rankAnew(b *book, r resume.Rules) {
	for key := range q.of {
		s, _ := b.get(key)
		q.add(s, r)
	}
}
