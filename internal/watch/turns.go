package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"sync"
	"syscall"
)

// A large file must not delay the others. So a file is read in turns: after turnSize bytes
// the other files have their turns, and events, checks and the end of Run are handled.
const (
	turnSize    = 4 << 20  // what a file may read in one turn
	oneTurn     = 32 << 10 // a file with no more than that to read is read in one turn
	slowFile    = 64 << 20 // Ready does not wait for a file after that many bytes
	maxOpen     = 64       // open files between turns, of those that a scan found
	newDirFiles = 16       // files of a new directory that are read at once
)

// costs is what a line takes from its file's turn beside its bytes: to decode it and to apply its
// event is far more work than to read it.
var costs = [...]int64{Moves: 1 << 10, Matters: 32 << 10}

// errAbandoned ends the reading of a file that was deleted or renamed.
var errAbandoned = errors.New("the file was deleted or renamed while it was read")

// readNew reads one turn of what is new in a file, and the rest in later turns.
func (w *Watcher) readNew(ctx context.Context, path string, asked ...chan error) {
	if f := w.files[path]; f != nil && f.reading != nil {
		f.reading.again = true
		f.reading.later = append(f.reading.later, asked...)
		return
	}
	p, err := w.begin(ctx, path)
	if p == nil {
		w.ended(ctx, path, err, asked)
		return
	}
	p.asked = asked
	w.takeTurn(ctx, p)
}

// begin opens the file that has the path now. It returns nil if there is nothing to read.
func (w *Watcher) begin(ctx context.Context, path string) (*pass, error) {
	f := w.files[path]
	// Lstat comes first: opening a FIFO would wake its writer.
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s", ErrNotWatched, kind(info.Mode()))
	case f != nil && f.upToDate(stampOf(info)):
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
	p := &pass{w: w, file: f, in: in, info: info, stamp: stampOf(info), left: turnSize}
	p.prepare(ctx)
	return p, nil
}

func (p *pass) prepare(ctx context.Context) {
	rest := p.size
	if !p.first {
		rest -= p.searched
	}
	if rest <= oneTurn { // nearly always
		p.stop = func() {}
		p.turn = func() bool {
			defer p.in.Close()
			p.err = p.run(ctx)
			return false
		}
		return
	}
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		defer p.in.Close()
		p.yield = func() bool { return yield(struct{}{}) }
		p.err = p.run(ctx)
	})
	p.stop = stop
	p.turn = func() bool { _, more := next(); return more }
}

// takeTurn reads one turn of a file, and queues the file again if there is more.
func (w *Watcher) takeTurn(ctx context.Context, p *pass) {
	release := w.takeBuffer()
	more := p.turn()
	release()
	if more {
		p.reading = p
		if p.read > slowFile {
			delete(w.atStart, p.path)
		}
		w.open = append(w.open, p)
		return
	}
	p.reading = nil
	if p.failed = p.err != nil; !p.failed {
		p.seen = p.stamp
	}
	w.ended(ctx, p.path, p.err, p.asked)
	if p.again && ctx.Err() == nil {
		w.readNew(ctx, p.path, p.later...)
	}
}

// blocks are read buffers, shared by all watchers because few of them read at a time.
var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

// takeBuffer gives the watcher a read buffer until release is called.
func (w *Watcher) takeBuffer() (release func()) {
	if w.buf != nil {
		return func() {} // it has one: reading one file led to another
	}
	block := blocks.Get().(*[blockSize]byte)
	w.buf = block[:]
	return func() {
		w.buf, w.block, w.blockOf = nil, nil, nil
		blocks.Put(block)
	}
}

// ended answers the callers of Check, and logs an error.
func (w *Watcher) ended(ctx context.Context, path string, err error, asked []chan error) {
	delete(w.atStart, path)
	w.readFailed = w.readFailed || err != nil
	for _, done := range asked {
		if err != nil {
			done <- fmt.Errorf("check %s: %w", path, err)
		} else {
			done <- nil
		}
	}
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		delete(w.warned, path)
	case ctx.Err() != nil, errors.Is(err, errShrunk), errors.Is(err, errAbandoned), len(asked) > 0:
	default:
		w.warn(path, err)
	}
}

func (w *Watcher) abandon(ctx context.Context, f *file) {
	p := f.reading
	if p == nil {
		return
	}
	w.open = slices.DeleteFunc(w.open, func(other *pass) bool { return other == p })
	p.stop()
	f.reading, f.failed = nil, true
	w.ended(ctx, f.path, errAbandoned, append(p.asked, p.later...))
}

func (w *Watcher) abandonAll() {
	for _, p := range w.open {
		p.stop()
		p.reading = nil
	}
	w.open = nil
}

func (w *Watcher) idle() bool { return len(w.todo) == 0 && len(w.open) == 0 }

// work gives a turn to an open file or to the next one of the list.
func (w *Watcher) work(ctx context.Context) {
	w.preferOpen = !w.preferOpen
	if len(w.open) > 0 && (len(w.todo) == 0 || !w.preferOpen || len(w.open) >= maxOpen) {
		p := w.open[0]
		w.open = w.open[1:]
		w.takeTurn(ctx, p)
		return
	}
	path := w.todo[0].path
	w.todo = w.todo[1:]
	if len(w.todo) == 0 {
		w.todo = nil // frees the memory of a large first scan
	}
	w.readNew(ctx, path)
}
