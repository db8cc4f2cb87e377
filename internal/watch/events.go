package watch

import (
	"context"
	"errors"

	"github.com/fsnotify/fsnotify"

	"resumed/internal/fsevents"
	"resumed/internal/mounts"
)

// mostHeard is how many events may wait, and be dealt with together: what a burst brings is told to
// the engine at once, but the first of it must not wait for long.
const mostHeard = 32

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
