package state

import (
	"encoding/json"
	"maps"
)

// maxWaitingLines bounds what a disk that stays full costs in memory:
// everything else in the queue is bounded by being coalesced.
const maxWaitingLines = 10_000

// op is one write that waits for its transaction.
type op struct {
	key  string // ops of one key replace each other
	rows *rows  // nil: stmt is run
	stmt string
	args func() ([]any, error) // called once, when it is written
}

// batch is what is written in one transaction. The order within it is of no
// account: all that matters is that it holds everything that was queued before its newest op.
type batch struct {
	ops     map[string]op
	cursors map[string]json.RawMessage // by path; nil: to be dropped. There may be a hundred thousand at a start
	lines   []op                       // of history: none replaces another
	queued  uint64                     // how many ops were ever queued, up to its newest
}

// queue is the batch that waits to be written.
type queue struct {
	batch
	dropped int    // lines that found no room
	written uint64 // how many of the ops that were ever queued are on disk
}

func (b batch) empty() bool { return len(b.ops) == 0 && len(b.cursors) == 0 && len(b.lines) == 0 }

func (q *queue) put(o op) {
	if q.ops == nil {
		q.ops = make(map[string]op)
	}
	q.ops[o.key] = o
	q.queued++
}

// move puts how far a file was read.
func (q *queue) move(path string, cursor json.RawMessage) {
	if q.cursors == nil {
		q.cursors = make(map[string]json.RawMessage)
	}
	q.cursors[path] = cursor
	q.queued++
}

func (q *queue) append(o op) {
	q.lines = append(q.lines, o)
	q.queued++
	q.trim()
}

// trim drops the oldest lines where there is no room for all.
func (q *queue) trim() {
	if over := len(q.lines) - maxWaitingLines; over > 0 {
		q.dropped += over
		q.lines = append([]op(nil), q.lines[over:]...)
	}
}

// take empties the queue into a batch.
func (q *queue) take() batch {
	b := q.batch
	q.batch = batch{queued: b.queued}
	return b
}

// restore puts back a batch that was not written, behind what came since.
func (q *queue) restore(b batch) {
	q.ops, q.cursors = merge(b.ops, q.ops), merge(b.cursors, q.cursors)
	q.lines = append(b.lines, q.lines...)
	q.trim()
}

// merge returns what is in both; a newer value replaces the old one.
func merge[V any](old, newer map[string]V) map[string]V {
	if old == nil {
		return newer
	}
	maps.Copy(old, newer)
	return old
}
