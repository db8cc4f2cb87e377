// Package watch turns a place where an agent writes into complete lines with
// cursors. One goroutine a root knows all of it: kernel events on directories
// wake it, a slow rescan covers what sends no events. Others only look, ahead of it.
package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"resumed/internal/fsevents"
)

// trusted is how many rescans are one where nothing is known to be missing without: a
// look at ten thousand files is most of what a daemon costs that rests.
const trusted = 5

// ErrStopped is what Check returns when Run has ended.
var ErrStopped = errors.New("watcher has stopped")

// ErrNotWatched is what Check returns for a path that is none of the root's
// files: outside of it, too deep, of another name, or not a regular file.
var ErrNotWatched = errors.New("not a watched file")

// Watcher watches one root. New makes one.
//
// A file is read on from its stored cursor. One without is read from its end
// back. One that appears while the watcher runs, and one whose content was
// replaced or truncated, is read from its beginning, or from its end back if it
// is larger than 1 MiB. A file that is renamed below the root is read on.
type Watcher struct {
	opts     Options
	log      *slog.Logger
	checks   chan check
	started  atomic.Bool
	stopped  chan struct{}
	noEvents bool // as on a file system without them

	descriptors *descriptors // that events cost

	// What follows is owned by Run.

	notify   *fsevents.Listener // nil without events
	todo     []found            // to be read, as a scan found them
	open     []*reading         // being read, by whose turn comes next
	odd      bool               // whether one of the latter comes next
	lain     map[string]bool    // lay there at the start and is not read yet; nil: Ready was told
	attached bool               // Root is there and its directories are watched
	rootID   fileID
	parent   string            // watched while Root is not there
	dirs     map[string]uint32 // watched directories, and the scan that last saw each
	files    map[string]*file
	byID     map[fileID]*file
	round    uint32            // scans so far
	swept    uint32            // times that the clock asked for a scan
	owing    bool              // a file could not be read since the last scan
	missedIn uint32            // the scan after which files were forgotten
	sights   uint32            // first sights so far
	told     map[string]string // what was last complained of, by path

	more   bool   // the next file is known already
	held   []byte // the lines that were read last,
	heldAt int64  // where they stand
	heldOf *pass  // and in which reading; nil: they were overwritten

	buf   []byte         // one block, while something is read
	head  [headSize]byte // a file's first bytes
	long  []byte         // one line that is longer than a block
	lines []Line
}

type check struct {
	path string
	done chan error
}

// New returns a Watcher that does nothing until Run.
func New(o Options) *Watcher {
	if abs, err := filepath.Abs(o.Root); err == nil {
		o.Root = abs
	}
	if o.Rescan <= 0 {
		o.Rescan = DefaultRescan
	}
	if o.Match == nil {
		o.Match = func(string) bool { return true }
	}
	if o.Known == nil {
		o.Known = func(string) (Cursor, bool) { return Cursor{}, false }
	}
	if o.Since == nil {
		o.Since = func() time.Time { return time.Time{} }
	}
	if o.Settle == nil {
		o.Settle = func(context.Context) error { return nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Watcher{
		opts:    o,
		log:     o.Log.With("root", o.Root),
		checks:  make(chan check),
		stopped: make(chan struct{}),
		dirs:    map[string]uint32{},
		files:   map[string]*file{},
		byID:    map[fileID]*file{},
		told:    map[string]string{},

		descriptors: allDescriptors(),
	}
}

// Run watches until ctx is done, and then returns nil. It may be called once.
func (w *Watcher) Run(ctx context.Context) error {
	if w.started.Swap(true) {
		return errors.New("watcher runs already")
	}
	defer close(w.stopped)

	events, release := w.listen()
	defer release()

	defer w.leaveAll()

	w.rescan(ctx)
	w.lain = make(map[string]bool, len(w.todo))
	for _, f := range w.todo {
		w.lain[f.path] = true
	}
	always := make(chan struct{})
	close(always)

	sweep := time.NewTicker(w.opts.Rescan)
	defer sweep.Stop()
	for {
		if ctx.Err() != nil {
			return nil
		}
		var work chan struct{} // nil: there is none
		if w.idle() {
			w.settle(ctx)
			w.forgetMissed()
		} else {
			work = always
		}
		w.announce(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-work:
			w.work(ctx)
		case <-events:
			w.hear(ctx)
		case c := <-w.checks:
			w.look(ctx, c)
		case <-sweep.C:
			if w.swept++; w.swept%trusted == 0 || !w.hearsAll() {
				w.rescan(ctx)
			}
		}
	}
}

// announce tells that all that lay there at the start was delivered.
func (w *Watcher) announce(ctx context.Context) {
	if w.lain == nil || len(w.lain) > 0 {
		return
	}
	w.lain = nil
	w.settle(ctx)
	if w.opts.Ready != nil {
		w.opts.Ready()
	}
}

// Check reads what is new in a file now and returns when it was delivered. It
// may be called from any goroutine but Deliver's, and waits for Run to start.
func (w *Watcher) Check(ctx context.Context, path string) error {
	c := check{path, make(chan error, 1)}
	select {
	case w.checks <- c:
	case <-w.stopped:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-c.done:
		return err
	case <-w.stopped:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle has what was read dealt with. What could not be waits for the next call, which the clock brings
// if nothing else does.
func (w *Watcher) settle(ctx context.Context) {
	if err := w.opts.Settle(ctx); err != nil && ctx.Err() == nil {
		w.log.Warn("what was read could not be told, it is tried again", "err", err)
	}
}

// look is Check within Run.
func (w *Watcher) look(ctx context.Context, c check) {
	if abs, err := filepath.Abs(c.path); err == nil {
		c.path = abs
	}
	if !w.wanted(c.path) {
		c.done <- fmt.Errorf("check %s: %w", c.path, ErrNotWatched)
		return
	}
	w.tend(ctx, c.path, c.done)
}

// rel returns a path below Root as relative to it.
func (w *Watcher) rel(path string) (string, bool) {
	return strings.CutPrefix(path, strings.TrimSuffix(w.opts.Root, "/")+"/")
}

// wanted says whether a file of that path is one of the root's.
func (w *Watcher) wanted(path string) bool {
	rel, below := w.rel(path)
	return below && strings.Count(rel, "/") <= w.opts.Depth && w.opts.Match(rel)
}

// complain logs what is wrong with a path, once until it changes.
func (w *Watcher) complain(path string, err error) {
	if w.told[path] == err.Error() {
		return
	}
	w.told[path] = err.Error()
	w.log.Warn("cannot watch", "path", path, "err", err)
}
