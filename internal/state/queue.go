package state

import "encoding/json"

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

// queue is what waits to be written. Within a batch the order is of no
// account, for a batch is one transaction: all that matters is that a batch
// holds everything that was queued before its newest op.
type queue struct {
	ops     map[string]op
	cursors map[string]json.RawMessage // by path; nil: to be dropped. There may be a hundred thousand at a start
	lines   []op                       // of history: none replaces another
	dropped int                        // lines that found no room
	queued  uint64                     // how many ops were ever queued
	written uint64                     // how many of them are on disk
}

type batch struct {
	ops     map[string]op
	cursors map[string]json.RawMessage
	lines   []op
	upTo    uint64
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
	b := batch{ops: q.ops, cursors: q.cursors, lines: q.lines, upTo: q.queued}
	q.ops, q.cursors, q.lines = nil, nil, nil
	return b
}

// restore puts back a batch that was not written, behind what came since.
func (q *queue) restore(b batch) {
	for key, o := range b.ops {
		if _, newer := q.ops[key]; newer {
			continue
		}
		if q.ops == nil {
			q.ops = make(map[string]op)
		}
		q.ops[key] = o
	}
	for path, cursor := range b.cursors {
		if _, newer := q.cursors[path]; newer {
			continue
		}
		if q.cursors == nil {
			q.cursors = make(map[string]json.RawMessage)
		}
		q.cursors[path] = cursor
	}
	q.lines = append(b.lines, q.lines...)
	q.trim()
}
