package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"sync"
	"syscall"
)

// One file must not hold up the others, however large it is and whatever is in
// it. So a file is read in turns: when it has read that much, it waits until the
// others had theirs, and events, checks and the end of Run come between.
const (
	turnSize = 4 << 20  // what a file may read in one turn
	oneTurn  = 32 << 10 // what is read in one turn, whatever is in it
	patient  = 64 << 20 // what a file may read before Ready does not wait for it any longer
	mostOpen = 64       // files that are open between turns, as far as a scan found them
	atOnce   = 16       // files of a new directory that have a turn before anything else
)

// costs is what a line takes from its file's turn, beside its bytes: to find out what it means, and to tell
// the engine, is far more work than to read it.
var costs = [...]int64{Moves: 1 << 10, Matters: 32 << 10}

// errAbandoned ends a reading whose file is not to be read on.
var errAbandoned = errors.New("the file was deleted or renamed while it was read")

// reading is a file that is being read. Owned by Run.
type reading struct {
	path    string
	file    *file
	stamp   stamp
	err     error
	turn    func() bool // reads on; false when it has ended
	abandon func()      // ends it
	pass    *pass

	asked []chan error // by those who wait for it
	again bool         // the file has changed since,
	later []chan error // and those wait for that
}

// tend reads what is new in a file: now as far as one turn goes, the rest in
// turn. What goes wrong is logged.
func (w *Watcher) tend(ctx context.Context, path string, asked ...chan error) {
	if f := w.files[path]; f != nil && f.reading != nil {
		f.reading.again = true
		f.reading.later = append(f.reading.later, asked...)
		return
	}
	r, err := w.begin(ctx, path)
	if r == nil {
		w.ended(ctx, path, err, asked)
		return
	}
	r.asked = asked
	w.takeTurn(ctx, r)
}

// begin opens a file, whichever has the name by now. It returns nothing where
// there is nothing to read.
func (w *Watcher) begin(ctx context.Context, path string) (*reading, error) {
	f := w.files[path]
	// Looked at before it is opened: the mere opening of a FIFO wakes a writer.
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s", ErrNotWatched, kind(info.Mode()))
	case f != nil && f.settled(stampOf(info)):
		return nil, nil
	}
	in, info, err := open(path)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%w: %s", ErrNotWatched, kind(fs.ModeSymlink))
	}
	if err != nil {
		return nil, err
	}
	if f, err = w.identify(ctx, path, in, stampOf(info)); err != nil {
		in.Close()
		return nil, err
	}
	return w.reading(ctx, f, in, info), nil
}

// reading makes what reads a file that is open.
func (w *Watcher) reading(ctx context.Context, f *file, in *os.File, info fs.FileInfo) *reading {
	st := stampOf(info)
	p := &pass{w: w, file: f, in: in, info: info, stamp: st, left: turnSize}
	r := &reading{path: f.path, file: f, stamp: st, pass: p}
	rest := st.size
	if !f.first {
		rest -= f.searched
	}
	if rest <= oneTurn { // nearly always
		r.abandon = func() {}
		r.turn = func() bool {
			defer in.Close()
			r.err = p.run(ctx)
			return false
		}
		return r
	}
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		defer in.Close()
		p.yield = func() bool { return yield(struct{}{}) }
		r.err = p.run(ctx)
	})
	r.abandon = stop
	r.turn = func() bool { _, more := next(); return more }
	return r
}

// takeTurn lets a file read on, and keeps it for its next turn where it has not
// ended.
func (w *Watcher) takeTurn(ctx context.Context, r *reading) {
	release := w.borrow()
	more := r.turn()
	release()
	f := r.file
	if more {
		f.reading = r
		if r.pass.read > patient {
			delete(w.lain, r.path)
		}
		w.open = append(w.open, r)
		return
	}
	f.reading = nil
	if f.failed = r.err != nil; !f.failed {
		f.seen = r.stamp
	}
	w.ended(ctx, r.path, r.err, r.asked)
	if r.again && ctx.Err() == nil {
		w.tend(ctx, r.path, r.later...)
	}
}

// blocks are what is read into. They are shared by all watchers: few of them read at
// a time.
var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

// borrow gives the watcher a block until release is called.
func (w *Watcher) borrow() (release func()) {
	if w.buf != nil {
		return func() {} // one file leads to another
	}
	block := blocks.Get().(*[blockSize]byte)
	w.buf = block[:]
	return func() {
		w.buf, w.held, w.heldOf = nil, nil, nil
		blocks.Put(block)
	}
}

// ended tells who asked, and logs what went wrong.
func (w *Watcher) ended(ctx context.Context, path string, err error, asked []chan error) {
	delete(w.lain, path)
	if err == nil && len(asked) > 0 {
		err = w.opts.Settle(ctx) // what was read before may be all that there is, and nobody was told of it
	}
	w.owing = w.owing || err != nil
	for _, done := range asked {
		if err != nil {
			done <- fmt.Errorf("check %s: %w", path, err)
		} else {
			done <- nil
		}
	}
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		delete(w.told, path)
	case ctx.Err() != nil, errors.Is(err, errShrunk), errors.Is(err, errAbandoned), len(asked) > 0:
	default:
		w.complain(path, err)
	}
}

// leave ends the reading of a file, if it is being read.
func (w *Watcher) leave(ctx context.Context, f *file) {
	r := f.reading
	if r == nil {
		return
	}
	for i, other := range w.open {
		if other == r {
			w.open = append(w.open[:i], w.open[i+1:]...)
			break
		}
	}
	r.abandon()
	f.reading, f.failed = nil, true
	w.ended(ctx, r.path, errAbandoned, append(r.asked, r.later...))
}

// leaveAll ends all readings.
func (w *Watcher) leaveAll() {
	for _, r := range w.open {
		r.abandon()
		r.file.reading = nil
	}
	w.open = nil
}

// idle reports whether nothing is to be read.
func (w *Watcher) idle() bool { return len(w.todo) == 0 && len(w.open) == 0 }

// work has one file take its turn: one that was begun, or the next one.
func (w *Watcher) work(ctx context.Context) {
	w.odd = !w.odd
	if len(w.open) > 0 && (len(w.todo) == 0 || !w.odd || len(w.open) >= mostOpen) {
		r := w.open[0]
		w.open = w.open[1:]
		w.takeTurn(ctx, r)
		return
	}
	path := w.todo[0].path
	w.todo = w.todo[1:]
	if w.more = len(w.todo) > 0; !w.more {
		w.todo = nil // a first scan finds all there are
	}
	w.tend(ctx, path)
	w.more = false
}
