package process

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/procfs"
)

// look is a snapshot of the processes, which answers many queries.
type look struct {
	began  time.Time
	listed []procfs.Listed
	err    error
	done   chan struct{} // closed when the fields above are set

	mu     sync.Mutex // guards the fields below
	pieces map[any]any
}

// looks makes concurrent queries share one snapshot.
type looks struct {
	walk func(context.Context) ([]procfs.Listed, error)
	turn chan struct{} // of size 1: one walk over the processes at a time

	mu   sync.Mutex // guards the field below
	next *look      // not started yet: it answers all queries until it starts; nil: no query waits
}

func newLooks(where procfs.FS) *looks {
	return &looks{walk: where.List, turn: make(chan struct{}, 1)}
}

// take returns a snapshot that started after the call, so that the answer is never older than
// the question whether a process holds a session. A query during a walk waits for the next
// one, together with all others that wait.
func (l *looks) take(ctx context.Context) *look {
	l.mu.Lock()
	next, leads := l.next, l.next == nil
	if leads {
		next = &look{done: make(chan struct{}), pieces: make(map[any]any)}
		l.next = next
	}
	l.mu.Unlock()
	if leads {
		l.lead(context.WithoutCancel(ctx), next) // without cancel, because others wait for it
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

// oldest is how old a snapshot may be that a group of queries shares.
const oldest = time.Second

// round is a group of queries.
type round struct {
	mu    sync.Mutex // guards the field below
	looks map[*looks]*look
}

type roundKey struct{}

// WithSnapshot returns a context in which all queries share one snapshot, which is taken with the
// first of them and again when it is a second old. A caller that needs the present state uses a
// context without earlier queries. A context that has a snapshot is returned as it is.
func WithSnapshot(ctx context.Context) context.Context {
	if _, together := ctx.Value(roundKey{}).(*round); together {
		return ctx
	}
	return context.WithValue(ctx, roundKey{}, &round{looks: make(map[*looks]*look)})
}

// look returns the snapshot that answers a query.
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

// Once reads a value for a snapshot, by its key, unless it was already read for that snapshot.
func Once[V any](ctx context.Context, t Table, key any, read func() V) V {
	value, _ := once(t.look(ctx), key, func() (V, error) { return read(), nil })
	return value
}

func once[V any](l *look, key any, read func() (V, error)) (V, error) {
	l.mu.Lock()
	known, ok := l.pieces[key].(func() (V, error))
	if !ok {
		known = sync.OnceValues(read)
		l.pieces[key] = known
	}
	l.mu.Unlock()
	return known()
}

// having is the key of the processes that have a variable, by its name.
type having string

// Having returns the processes that have a variable in their environment, with its value, or
// an error if they cannot be known.
func (t Table) Having(ctx context.Context, name string) (map[int]string, error) {
	return once(t.look(ctx), having(name), func() (map[int]string, error) { return t.FS.Having(ctx, name) })
}

// openFiles is the key of all open files.
type openFiles struct{}

// Writers returns the processes except this one that have the file of that name open for
// writing, or an error if they cannot be known.
func (t Table) Writers(ctx context.Context, name string) ([]int, error) {
	if !t.HasProc() {
		return t.WritersByLsof(ctx, name)
	}
	users, err := once(t.look(ctx), openFiles{}, t.users)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(users[name]), func(pid int) bool { return !t.Writes(pid, name) }), nil
}

// users returns the pids of all processes except this one by the files that they have open.
func (t Table) users() (map[string][]int, error) {
	pids, err := t.PIDs()
	users := make(map[string][]int)
	for _, pid := range pids {
		if pid == os.Getpid() {
			continue
		}
		files, _ := t.Open(pid) // empty if it has ended or is another user's
		for _, file := range files {
			if strings.HasPrefix(file.Name, "/") && !slices.Contains(users[file.Name], pid) {
				users[file.Name] = append(users[file.Name], pid)
			}
		}
	}
	return users, err
}

// openOf is the key of the open files of a process, by its pid.
type openOf int

// OpenFiles returns the open files of a process, or an error if they cannot be known.
func (t Table) OpenFiles(ctx context.Context, pid int) ([]procfs.File, error) {
	return once(t.look(ctx), openOf(pid), func() ([]procfs.File, error) { return t.Open(pid) })
}
