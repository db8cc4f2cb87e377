package engine

import (
	"cmp"
	"math"

	"resumed/internal/resume"
)

// queue is the sessions that are due. Thousands may wait behind one that tries, and
// each step of each of them may let another one start. So those who were told why
// they are held back stand together with the others who were told the same: when the
// first of them is still held back for that, all of them are.
type queue struct {
	of    map[resume.Key]queued
	fresh *tree[queued]            // were not told anything yet
	told  map[holdup]*tree[queued] // none of them empty
}

// holdup is what holds sessions back alike.
type holdup struct {
	account resume.AccountKey
	why     string
	heed    resume.SharedLimit
}

// queued is one of them, by who goes first.
type queued struct {
	key    resume.Key
	rank   int   // by its directory;
	place  int   // what was begun goes before what is queued, and that in its own order;
	tokens int64 // of equal ones the smaller context goes first,
	turn   int64 // then by when it was stopped
	holdup holdup
}

func newQueue() queue {
	return queue{of: make(map[resume.Key]queued), fresh: newTree(queued.compare), told: make(map[holdup]*tree[queued])}
}

func queuedOf(s resume.Session, r resume.Rules) queued {
	tokens := cmp.Or(s.Context.Tokens, math.MaxInt64) // of which nothing is known may be a large one
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

// add lets a session wait for its turn.
func (q *queue) add(s resume.Session, r resume.Rules) {
	q.drop(s.Key)
	one := queuedOf(s, r)
	q.of[s.Key] = one
	q.fresh.ReplaceOrInsert(one)
}

// hold lets a session wait on that was told why.
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

// drop takes a session out.
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

// line is sessions that stand one behind the other.
type line struct {
	alike *tree[queued]
	first queued
	told  bool // what holds one of them back holds back all
	alone bool // nobody stands behind the first
}

// step goes on to the next one, and reports whether there is one.
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

// lines returns all who wait, those that involved names each in a line of their own
// as well: others may be held back because of them.
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

// rankAnew puts those who are due into the order of other rules.
func (q *queue) rankAnew(b *book, r resume.Rules) {
	for key := range q.of {
		s, _ := b.get(key)
		q.add(s, r)
	}
}
