package opencode

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/fsevents"
)

// watch waits for changes in directories, also in those that are not
// there yet. It is owned by Follow.
type watch struct {
	log    *slog.Logger
	notify *fsevents.Listener // nil: the survey has to do
	events <-chan struct{}
	dirs   []string
}

func newWatch(log *slog.Logger, deaf bool) *watch {
	w := &watch{log: log}
	if deaf {
		return w
	}
	notify, err := fsevents.New()
	if err != nil {
		log.Warn("no file events, databases are read by the clock", "every", rescan, "err", err)
		return w
	}
	w.notify, w.events = notify, notify.Ready()
	return w
}

func (w *watch) close() {
	if w.notify == nil {
		return
	}
	if err := w.notify.Close(); err != nil {
		w.log.Debug("close file events", "err", err)
	}
}

// set watches these directories, or the nearest ones above them that are there, and no others. The next one may
// have come before the one above it was watched: that is tried until nothing changes.
func (w *watch) set(dirs []string) {
	if w.dirs = dirs; w.notify == nil {
		return
	}
	var before, now []string
	for now == nil || !slices.Equal(before, now) {
		before, now = now, nil
		for _, dir := range dirs {
			now = append(now, w.nearest(dir))
		}
	}
	for _, dir := range w.notify.Added() {
		if !slices.Contains(now, dir) {
			_ = w.notify.Remove(dir) // it may be gone
		}
	}
}

// nearest watches dir, or the nearest directory above it that is there, and returns which.
func (w *watch) nearest(dir string) string {
	for w.notify.Add(dir) != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// leadsTo reports whether name is a watched directory, or lies on the way to one.
func (w *watch) leadsTo(name string) bool {
	return slices.ContainsFunc(w.dirs, func(dir string) bool {
		return dir == name || strings.HasPrefix(dir, name+string(filepath.Separator))
	})
}
