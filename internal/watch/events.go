package watch

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"resumed/internal/fsevents"
	"resumed/internal/mounts"
)

// maxEvents is how many events are handled together. A burst reaches the engine in one call, but the
// first event of it must not wait long.
const maxEvents = 32

// listen opens the stream of events. Without one the rescan finds what changed.
func (w *Watcher) listen() (events <-chan struct{}, release func()) {
	if w.noEvents {
		return nil, func() {}
	}
	n, err := fsevents.New()
	if err != nil {
		w.log.Warn("no file events, files are looked at by the clock", "every", w.pause, "err", err)
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

func (w *Watcher) handleEvents(ctx context.Context) {
	events, err := w.notify.Take(maxEvents)
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		w.log.Info("file events overflowed, looking at every file")
	} else if err != nil {
		w.log.Warn("file events", "err", err)
	}
	if err != nil { // only a rescan finds out what was lost
		w.rescan(ctx)
	}
	for _, ev := range events {
		w.handleEvent(ctx, ev)
	}
}

// eventsAreEnough reports whether events cover every change below the root, and every file
// that they named could be read.
func (w *Watcher) eventsAreEnough() bool {
	return w.attached && w.notify != nil && !w.readFailed && len(w.warned) == 0 && mounts.Network(w.opts.Root) == ""
}

// descriptors counts the files that are kept open for events. Linux needs none. kqueue (macOS)
// keeps each file of a watched directory open: thousands of transcripts would leave no
// descriptors for the rest of the daemon, so directories beyond a bound are only rescanned.
type descriptors struct {
	most int // 0: events cost none

	mu   sync.Mutex     // guards what follows
	held map[string]int // by directory
	sum  int
}

// allDescriptors is the count of this process.
var allDescriptors = sync.OnceValue(func() *descriptors {
	var bound syscall.Rlimit
	if runtime.GOOS == "linux" || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &bound) != nil {
		return &descriptors{}
	}
	// Go has raised the bound as far as the system allows. Half of it stays for the rest of the daemon.
	return &descriptors{most: int(min(uint64(bound.Cur), 1<<20) / 2)}
})

// take counts the files of a directory again, and reports whether it can be watched.
func (d *descriptors) take(dir string) bool {
	if d.most == 0 {
		return true
	}
	names, _ := os.ReadDir(dir) // a directory that cannot be read is not watched either
	cost := 1 + len(names)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sum-d.held[dir]+cost > d.most {
		return false
	}
	if d.held == nil {
		d.held = make(map[string]int)
	}
	d.sum += cost - d.held[dir]
	d.held[dir] = cost
	return true
}

func (d *descriptors) leave(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sum -= d.held[dir]
	delete(d.held, dir)
}
