package resume

import (
	"cmp"
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
}

func (a queued) compare(b queued) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.key.Agent, b.key.Agent), cmp.Compare(a.key.ID, b.key.ID))
}

func (q *queue) add(s Session) {
	one := queued{s.LimitedAt, s.Key, s.AccountKey(), s.Reason}
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
func (q *queue) inOrder(order Order, into []queued) []queued {
	into = append(into[:0], *q...)
	if order == Newest {
		slices.Reverse(into)
	}
	return into
}
