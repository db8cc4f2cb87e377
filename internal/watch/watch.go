// Package watch reads the files below a directory as they grow, and delivers complete
// lines with cursors. One goroutine reads all files of a root: events of the kernel wake
// it, and a slow rescan covers file systems that send no events.
package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/fsevents"
)

// rescanEvery is the pause between two looks at every file, for file systems that send no events.
const rescanEvery = time.Minute

// sweepsPerScan is how many ticks of the clock lead to one rescan while events work: to look at
// ten thousand files is most of what an idle daemon costs.
const sweepsPerScan = 5

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
	stopped  chan struct{}
	pause    time.Duration // between two looks at every file
	noEvents bool          // for tests: as on a file system without events

	descriptors *descriptors // open files that events need

	// What follows is owned by Run.

	notify     *fsevents.Listener // nil without events
	todo       []found            // files to read, as a scan found them
	open       []*pass            // files being read, the next turn first
	preferOpen bool               // an open file has the next turn
	atStart    map[string]bool    // files found by the first scan and not read yet; nil: Ready was called
	attached   bool               // Root exists and its directories are watched
	rootID     fileID
	parent     string            // watched while Root does not exist
	dirs       map[string]uint32 // watched directories, and the scan that last saw each
	files      map[string]*file
	byID       map[fileID]*file
	round      uint32            // scans so far
	sweeps     uint32            // times that the clock asked for a scan
	readFailed bool              // a file could not be read since the last scan
	forgotIn   uint32            // the scan after which files were forgotten
	firstReads uint32            // files read from their end back so far
	warned     map[string]string // the last warning, by path

	block   []byte // the whole lines that were read last,
	blockAt int64  // their offset
	blockOf *pass  // and their reading; nil: they were overwritten

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
	return &Watcher{
		opts:    o,
		pause:   rescanEvery,
		log:     o.Log.With("root", o.Root),
		checks:  make(chan check),
		stopped: make(chan struct{}),
		dirs:    map[string]uint32{},
		files:   map[string]*file{},
		byID:    map[fileID]*file{},
		warned:  map[string]string{},

		descriptors: allDescriptors(),
	}
}

// Run watches until ctx is done, and then returns nil. It may be called once.
func (w *Watcher) Run(ctx context.Context) error {
	defer close(w.stopped)
	events, release := w.listen()
	defer release()
	defer w.abandonAll()

	w.rescan(ctx)
	w.atStart = make(map[string]bool, len(w.todo))
	for _, f := range w.todo {
		w.atStart[f.path] = true
	}
	always := make(chan struct{})
	close(always)

	sweep := time.NewTicker(w.pause)
	defer sweep.Stop()
	for {
		if ctx.Err() != nil {
			return nil
		}
		var work chan struct{} // nil: nothing to read
		if w.idle() {
			w.forgetMissed()
		} else {
			work = always
		}
		w.reportReady(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-work:
			w.work(ctx)
		case <-events:
			w.handleEvents(ctx)
		case c := <-w.checks:
			w.handleCheck(ctx, c)
		case <-sweep.C:
			if w.sweeps++; w.sweeps%sweepsPerScan == 0 || !w.eventsAreEnough() {
				w.rescan(ctx)
			}
		}
	}
}

// reportReady calls Ready when all files of the first scan were delivered.
func (w *Watcher) reportReady(ctx context.Context) {
	if w.atStart == nil || len(w.atStart) > 0 {
		return
	}
	w.atStart = nil
	w.opts.Ready(ctx)
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

// handleCheck is the part of Check that runs in Run's goroutine.
func (w *Watcher) handleCheck(ctx context.Context, c check) {
	if abs, err := filepath.Abs(c.path); err == nil {
		c.path = abs
	}
	if !w.wanted(c.path) {
		c.done <- fmt.Errorf("check %s: %w", c.path, ErrNotWatched)
		return
	}
	w.readNew(ctx, c.path, c.done)
}

func (w *Watcher) rel(path string) (string, bool) {
	return strings.CutPrefix(path, strings.TrimSuffix(w.opts.Root, "/")+"/")
}

func (w *Watcher) wanted(path string) bool {
	rel, below := w.rel(path)
	return below && strings.Count(rel, "/") <= w.opts.Depth && w.opts.Match(rel)
}

// warn logs what is wrong with a path, once until it changes.
func (w *Watcher) warn(path string, err error) {
	if w.warned[path] == err.Error() {
		return
	}
	w.warned[path] = err.Error()
	w.log.Warn("cannot watch", "path", path, "err", err)
}
