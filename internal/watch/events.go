package watch

import (
	"context"
	"errors"

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

// handleEvents handles the next events, at most maxEvents.
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
