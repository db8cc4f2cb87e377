// Package watch turns a place where an agent writes into complete lines with
// cursors. One goroutine a root knows all of it: kernel events on directories
// wake it, a slow rescan covers what sends no events. Others only look, ahead of it.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"resumed/internal/fsevents"
	"resumed/internal/mounts"
)

// DefaultRescan is the pause between two looks at every file.
const DefaultRescan = time.Minute

// trusted is how many of them are one where nothing is known to be missing without: a
// look at ten thousand files is most of what a daemon costs that rests.
const trusted = 5

// mostHeard is how many events may wait, and be dealt with together: what a burst brings is told to
// the engine at once, but the first of it must not wait for long.
const mostHeard = 32

// ErrStopped is what Check returns when Run has ended.
var ErrStopped = errors.New("watcher has stopped")

// ErrNotWatched is what Check returns for a path that is none of the root's
// files: outside of it, too deep, of another name, or not a regular file.
var ErrNotWatched = errors.New("not a watched file")

// Options say what is watched and who is told.
type Options struct {
	// Root is the directory that is watched. It may be a symbolic link, and it
	// need not exist yet. Below it links are not followed, neither to
	// directories nor to files.
	Root string

	// Depth is how many directory levels below Root are watched; 0 is Root
	// itself.
	Depth int

	// Match says whether the file of that name, relative to Root, is wanted.
	// It is called from several goroutines at once. Nil wants all.
	Match func(rel string) bool

	// Needles, where there are any, are what a line must contain one of:
	// others are passed over by a search of the whole block.
	Needles []string

	// Sift weighs a line by its bytes; lines that weigh Nothing are passed
	// over. Nil keeps all.
	Sift func(line []byte) Weight

	// Known returns the cursor stored for a path. It is called from Run's
	// goroutine when a path is met that has no state in memory. Nil knows none.
	Known func(path string) (Cursor, bool)

	// Since returns a time: a file without a stored cursor that a scan finds, and that
	// was last changed before, is not opened until it changes. Nil opens all.
	Since func() time.Time

	// Settle is called, from Run's goroutine, when no batch follows at once: those
	// that were marked More are to be dealt with now. After an error it is called again, and
	// no Check ends well before it has. It may be nil.
	Settle func(context.Context) error

	// Deliver takes what was read. It is called from Run's goroutine, must not
	// call Check, and the batch's bytes are valid during the call only. After
	// an error the file's cursor stays where it was, and the same lines come
	// again with the file's next event or the next rescan.
	//
	// A batch may have no lines: its cursor is worth storing all the same.
	// enough ends the reading of older lines after a Back batch; elsewhere it
	// means nothing.
	Deliver func(context.Context, Batch) (enough bool, err error)

	// Glance, where it is not nil, says of a file that lay there at the start what the lines of
	// a Back batch mean, and whether that is enough: then nothing of the file is delivered but
	// a batch without lines, with its cursor and what Glance returned. It is
	// called from several goroutines at once.
	Glance func(Batch) (judged any, enough bool)

	// Rescan is the pause between two looks at every file, for file systems
	// that send no events; 0 means DefaultRescan. Where events are known to tell
	// all, it is five times that.
	Rescan time.Duration

	// Ready is called once, when all that lay there at the start was
	// delivered; files of which very much is to be read are not waited
	// for. It may be nil.
	Ready func()

	// Log may be nil.
	Log *slog.Logger
}

// Weight is what a line may be worth, judged by its bytes alone.
type Weight uint8

// The weights.
const (
	Nothing Weight = iota // cannot matter
	Moves                 // may be movement: of a run of such lines the last real one tells all
	Matters               // may be anything: it must be read
)

// Line is one complete line of a file.
type Line struct {
	Offset int64  // of its first byte
	End    int64  // of the byte after its newline
	Data   []byte // without newline and carriage return; valid during Deliver only
	Weight Weight

	// Cut says that the line is longer than 8 MiB and Data is its first
	// 64 KiB. Such a line cannot be judged: it is neither searched nor sifted
	// and weighs Matters.
	Cut bool
}

// Batch is a run of lines of one file, in the file's order.
type Batch struct {
	Path    string
	Info    fs.FileInfo // of the file that is read, when the reading began
	ModTime time.Time   // the same as Info tells
	Epoch   string      // the incarnation of the file that the lines stand in
	Lines   []Line      // those that were kept
	Was     string      // the file's name until now, where it was renamed
	Late    bool        // the file is read on from a stored cursor: another watcher has read its beginning

	// Held is what of the file is in memory anyway, whole lines, those of the batch
	// among them, and HeldAt where it stands. Valid during Deliver only.
	Held   []byte
	HeldAt int64

	// File is the file, open; nil in a Batch that Glance judges. To be read at offsets, and during Deliver only.
	File *os.File

	// Head is the whole lines that the file begins with, as many as were read with its end; nil:
	// none were, or Held has them. Valid during the call only.
	Head []byte

	// More says that another file is about to be read. A call of Settle comes in
	// any case.
	More bool

	// Few says, to Glance, that these are the last few of the lines that are held; Judged
	// is what it returned.
	Few    bool
	Judged any

	// Born is when the file was made; zero: that was not looked for, or cannot be told.
	Born time.Time

	// Since is where this run of batches began: each line from there on was
	// delivered, in order, or passed over. It says nothing in a Back batch.
	Since int64

	// Cursor is what to store once the batch is dealt with. It is zero in a
	// Back batch: the batch that ends the first sight has it.
	Cursor Cursor

	// Back marks the first sight of a file: the lines are older than those of
	// all batches before. The reading goes on towards the file's beginning
	// until Deliver has enough.
	Back bool

	// Sight numbers the first sights of all files. One that could not be
	// finished is begun anew, under another number: what its Back batches told
	// may not be true any more.
	Sight uint32
}

// Watcher watches one root. New makes one.
//
// A file is read on from its stored cursor. One without is read from its end
// back. One that appears while the watcher runs, and one whose content was
// replaced or truncated, is read from its beginning, or from its end back if it
// is larger than 1 MiB. A file that is renamed below the root is read on.
type Watcher struct {
	opts     Options
	log      *slog.Logger
	find     finder
	checks   chan check
	started  atomic.Bool
	stopped  chan struct{}
	noEvents bool // as on a file system without them

	descriptors *descriptors // that events cost

	// What follows is owned by Run.

	notify   *fsevents.Listener // nil without events
	todo     []found            // to be read, as a scan found them
	ahead    []*chunk           // being looked at ahead, by whose turn comes next
	open     []*reading         // being read, by whose turn comes next
	odd      bool               // whether one of the latter comes next
	lain     map[string]bool    // lay there at the start and is not read yet; nil: Ready was told
	attached bool               // Root is there and its directories are watched
	rootID   fileID
	parent   string            // watched while Root is not there
	dirs     map[string]uint32 // watched directories, and the scan that last saw each
	files    map[string]*file  // that are not on the shelf
	byID     map[fileID]*file
	shelf    shelf             // those that rest
	touched  []*file           // that may rest again
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
		find:    newFinder(o.Needles),
		checks:  make(chan check),
		stopped: make(chan struct{}),
		dirs:    map[string]uint32{},
		files:   map[string]*file{},
		byID:    map[fileID]*file{},
		shelf:   newShelf(),
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
	defer w.awaitLooks()

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
			w.tidy()
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

// listen opens the kernel's events. Where that cannot be, the rescan has to do.
func (w *Watcher) listen() (events <-chan struct{}, release func()) {
	if w.noEvents {
		return nil, func() {}
	}
	n, err := fsevents.New()
	if err != nil {
		w.log.Warn("no file events, files are looked at by the clock", "every", w.opts.Rescan, "err", err)
		return nil, func() {}
	}
	w.notify = n
	return n.Ready(), func() {
		for dir := range w.dirs {
			w.descriptors.leave(dir)
		}
		if err := n.Close(); err != nil {
			w.log.Debug("close file events", "err", err)
		}
	}
}

// hear deals with events that have come, not with so many that others wait for their turn.
func (w *Watcher) hear(ctx context.Context) {
	events, err := w.notify.Take(mostHeard)
	if err != nil {
		w.missed(ctx, err)
	}
	for i, ev := range events {
		w.more = i < len(events)-1
		w.handle(ctx, ev)
	}
	w.more = false
	w.settle(ctx)
}

// settle has what was read dealt with. What could not be waits for the next call, which the clock brings
// if nothing else does.
func (w *Watcher) settle(ctx context.Context) {
	if err := w.opts.Settle(ctx); err != nil && ctx.Err() == nil {
		w.log.Warn("what was read could not be told, it is tried again", "err", err)
	}
}

// hearsAll reports whether events tell of all that changes below the root, as far as is
// known, and all that they told of was read.
func (w *Watcher) hearsAll() bool {
	return w.attached && w.notify != nil && !w.owing && len(w.told) == 0 && mounts.Network(w.opts.Root) == ""
}

// missed handles an error of the event stream: events may have been lost, and
// only a look at everything tells which.
func (w *Watcher) missed(ctx context.Context, err error) {
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		w.log.Info("file events overflowed, looking at every file")
	} else {
		w.log.Warn("file events", "err", err)
	}
	w.rescan(ctx)
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
