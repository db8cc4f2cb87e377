package state

import "maps"

// maxWaitingLines bounds the memory that is used while the disk is full: everything else in the queue
// is bounded because newer ops replace older ones.
const maxWaitingLines = 10_000

// op is a queued write.
type op struct {
	key  string // a newer op replaces an older one with the same key
	stmt string
	args func() ([]any, error) // called once, when the op is written
}

// batch is written in one transaction. Its inner order does not matter: it only has to contain
// everything that was queued before its newest op.
type batch struct {
	ops   map[string]op
	lines []op // of the history: they do not replace each other
}

// queue is the batch that waits to be written.
type queue struct {
	batch
	dropped int // lines that were dropped for lack of room
}

func (b batch) empty() bool { return len(b.ops) == 0 && len(b.lines) == 0 }

func (q *queue) put(o op) {
	if q.ops == nil {
		q.ops = make(map[string]op)
	}
	q.ops[o.key] = o
}

func (q *queue) append(o op) {
	q.lines = append(q.lines, o)
	q.trim()
}

// trim drops the oldest lines if there are too many.
func (q *queue) trim() {
	if over := len(q.lines) - maxWaitingLines; over > 0 {
		q.dropped += over
		q.lines = append([]op(nil), q.lines[over:]...)
	}
}

// take empties the queue into a batch.
func (q *queue) take() batch {
	b := q.batch
	q.batch = batch{}
	return b
}

// restore puts back a batch that could not be written. What was queued since is newer.
func (q *queue) restore(b batch) {
	if b.ops != nil {
		maps.Copy(b.ops, q.ops)
		q.ops = b.ops
	}
	q.lines = append(b.lines, q.lines...)
	q.trim()
}
