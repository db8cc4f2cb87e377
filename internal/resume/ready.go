package resume

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// queue is the sessions that are due, by when they were stopped. It is kept in
// order, for it is walked at each step of each of them.
type queue []queued

// queued is one of them, with what of it decides whether it must be looked at.
type queued struct {
	at      time.Time
	key     Key
	account AccountKey
	why     string // why it is held back, as far as it was told
	rank    int    // by its directory; of equal ones the smaller context goes first
	tokens  int64
}

func (a queued) compare(b queued) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.key.Agent, b.key.Agent), cmp.Compare(a.key.ID, b.key.ID))
}

func (q *queue) add(s Session, r Rules) {
	tokens := cmp.Or(s.Context.Tokens, math.MaxInt64) // of which nothing is known may be a large one
	one := queued{s.LimitedAt, s.Key, s.AccountKey(), s.Reason, r.rank(s.Cwd), tokens}
	if i, there := slices.BinarySearchFunc(*q, one, queued.compare); !there {
		*q = slices.Insert(*q, i, one)
	}
}

// drop takes out a session as it was when it was added.
func (q *queue) drop(s Session) {
	if i, there := slices.BinarySearchFunc(*q, queued{at: s.LimitedAt, key: s.Key}, queued.compare); there {
		*q = slices.Delete(*q, i, i+1)
	}
}

// inOrder returns who is ready, first to go first, in the memory of into.
func (q *queue) inOrder(r Rules, into []queued) []queued {
	into = append(into[:0], *q...)
	if r.Order == Newest {
		slices.Reverse(into)
	}
	if len(r.Priority) > 0 {
		slices.SortStableFunc(into, queued.before)
	}
	return into
}

// before compares by what the user prefers.
func (a queued) before(b queued) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.tokens, b.tokens))
}

// Priority is the rank of the sessions of a directory: those of 1 go first.
type Priority struct {
	Dir  string
	Rank int
}

// rank returns that of a directory, by the closest one that is named. What is not
// named comes last.
func (r Rules) rank(dir string) int {
	rank, closest := math.MaxInt, -1
	for _, p := range r.Priority {
		if len(p.Dir) > closest && within(dir, p.Dir) {
			rank, closest = p.Rank, len(p.Dir)
		}
	}
	return rank
}

// rankAnew gives those who are due the ranks of other rules.
func (q *queue) rankAnew(sessions map[Key]Session, r Rules) {
	for i, one := range *q {
		(*q)[i].rank = r.rank(sessions[one.key].Cwd)
	}
}
