package engine

import (
	"cmp"
	"math"

	"resumed/internal/resume"
)

// queue is the sessions that are due. Thousands may wait behind one that tries, and each step of each
// of them may let another one start. So sessions with the same reason are grouped: if the first one is
// still held back for that reason, all of the group are.
type queue struct {
	of    map[resume.Key]queued
	fresh *tree[queued]            // sessions without a reason yet
	told  map[holdup]*tree[queued] // sessions by their reason; no tree is empty
}

// holdup is a reason that holds back a group of sessions.
type holdup struct {
	account resume.AccountKey
	why     string
	heed    resume.SharedLimit
}

// queued is a session in the queue, with the values that order it.
type queued struct {
	key    resume.Key
	rank   int   // of its directory
	place  int   // 0: a stopped session, which goes before tasks of its rank; otherwise the place of the task
	tokens int64 // then the smaller context goes first
	turn   int64 // then by when it was stopped
	holdup holdup
}

func newQueue() queue {
	return queue{of: make(map[resume.Key]queued), fresh: newTree(queued.compare), told: make(map[holdup]*tree[queued])}
}

func queuedOf(s resume.Session, r resume.Rules) queued {
	tokens := cmp.Or(s.Context.Tokens, math.MaxInt64) // an unknown context may be large
	turn := s.LimitedAt.UnixNano()
	if r.Order == resume.Newest {
		turn = -turn
	}
	one := queued{key: s.Key, rank: r.Rank(s.Cwd), tokens: tokens, turn: turn}
	if s.Pending() {
		one.place = s.Task.Place
	}
	return one
}

func (a queued) compare(b queued) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.place, b.place), cmp.Compare(a.tokens, b.tokens), cmp.Compare(a.turn, b.turn),
		cmp.Compare(a.key.Agent, b.key.Agent), cmp.Compare(a.key.ID, b.key.ID))
}

// add puts a session into the queue.
func (q *queue) add(s resume.Session, r resume.Rules) {
	q.drop(s.Key)
	one := queuedOf(s, r)
	q.of[s.Key] = one
	q.fresh.ReplaceOrInsert(one)
}

// hold puts a session into the group of its reason.
func (q *queue) hold(s resume.Session, r resume.Rules) {
	q.drop(s.Key)
	one := queuedOf(s, r)
	one.holdup = holdup{s.AccountKey(), s.Reason, s.SharedLimit()}
	q.of[s.Key] = one
	alike := q.told[one.holdup]
	if alike == nil {
		alike = newTree(queued.compare)
		q.told[one.holdup] = alike
	}
	alike.ReplaceOrInsert(one)
}

// drop removes a session.
func (q *queue) drop(key resume.Key) {
	one, there := q.of[key]
	if !there {
		return
	}
	delete(q.of, key)
	alike := q.told[one.holdup]
	if alike == nil {
		q.fresh.Delete(one)
		return
	}
	if alike.Delete(one); alike.Len() == 0 {
		delete(q.told, one.holdup)
	}
}

// line is sessions in their order.
type line struct {
	alike *tree[queued]
	first queued
	told  bool // the reason of one of them holds back all
	alone bool // only the first is meant
}

// step moves on to the next session, and reports whether there is one.
func (l *line) step() bool {
	if l.alone {
		return false
	}
	for one := range l.alike.from(l.first) {
		if one != l.first {
			l.first = one
			return true
		}
	}
	return false
}

// lines returns all waiting sessions. The sessions of involved also get a line of their own: others may
// be held back because of them.
func (q *queue) lines(involved func(resume.AccountKey) []resume.Key) []*line {
	var lines []*line
	if first, ok := q.fresh.Min(); ok {
		lines = append(lines, &line{alike: q.fresh, first: first})
	}
	for because, all := range q.told {
		first, _ := all.Min()
		lines = append(lines, &line{alike: all, first: first, told: true})
		for _, key := range involved(because.account) {
			if one, there := q.of[key]; there && one.holdup == because {
				lines = append(lines, &line{alike: all, first: one, alone: true})
			}
		}
	}
	return lines
}

// rankAnew sorts the queue by new rules.
func (q *queue) rankAnew(b *book, r resume.Rules) {
	for key := range q.of {
		s, _ := b.get(key)
		q.add(s, r)
	}
}
