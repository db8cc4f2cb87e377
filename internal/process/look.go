package process

import (
	"context"
	"sync"
	"time"

	"resumed/internal/procfs"
)

// look is what was seen of processes at one time: their arguments, and of some of
// them more. Many questions are answered by one.
type look struct {
	began  time.Time
	listed []procfs.Listed
	err    error
	done   chan struct{} // closed when the above is there

	mu     sync.Mutex // guards what follows
	pieces map[any]any
}

// looks lets all who ask at the same time share one look.
type looks struct {
	walk func(context.Context) ([]procfs.Listed, error)
	turn chan struct{} // of size 1: one walk at a time

	mu   sync.Mutex // guards what follows
	next *look      // which has not begun: it answers all who come until then; nil: nobody waits
}

func newLooks(where procfs.FS) *looks {
	return &looks{walk: where.List, turn: make(chan struct{}, 1)}
}

// take returns a look that began after it was called: who asks whether somebody
// holds a session is never told of a time before the question. Who asks while
// another look is under way waits for the next one, with all others who do.
func (l *looks) take(ctx context.Context) *look {
	l.mu.Lock()
	next, leads := l.next, l.next == nil
	if leads {
		next = &look{done: make(chan struct{}), pieces: make(map[any]any)}
		l.next = next
	}
	l.mu.Unlock()
	if leads {
		l.lead(context.WithoutCancel(ctx), next) // others wait for it
	}
	<-next.done
	return next
}

func (l *looks) lead(ctx context.Context, next *look) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.mu.Lock()
	l.next = nil
	l.mu.Unlock()
	next.began = time.Now()
	next.listed, next.err = l.walk(ctx)
	close(next.done)
}

// oldest is how old a look may be that answers questions which are asked together.
const oldest = time.Second

// round are questions that are asked together.
type round struct {
	mu    sync.Mutex // guards what follows
	looks map[*looks]*look
}

type roundKey struct{}

// WithSnapshot returns a context whose questions are answered by one look, which is
// taken with the first of them and again when it is a second old. Who wants to know
// what is true now asks with a context that no earlier question was asked with. A
// context that is already such a one is returned as it is.
func WithSnapshot(ctx context.Context) context.Context {
	if _, together := ctx.Value(roundKey{}).(*round); together {
		return ctx
	}
	return context.WithValue(ctx, roundKey{}, &round{looks: make(map[*looks]*look)})
}

// look returns the one that answers a question.
func (t Table) look(ctx context.Context) *look {
	r, together := ctx.Value(roundKey{}).(*round)
	if !together {
		return t.looks.take(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.looks[t.looks]
	if seen == nil || time.Since(seen.began) > oldest {
		seen = t.looks.take(ctx)
		r.looks[t.looks] = seen
	}
	return seen
}

// Once reads something that belongs to a look, by its key, unless that was already
// read for another question that the same look answers.
func Once[V any](ctx context.Context, t Table, key any, read func() V) V {
	return once(t.look(ctx), key, read)
}

func once[V any](l *look, key any, read func() V) V {
	l.mu.Lock()
	known, ok := l.pieces[key].(func() V)
	if !ok {
		known = sync.OnceValue(read)
		l.pieces[key] = known
	}
	l.mu.Unlock()
	return known()
}
