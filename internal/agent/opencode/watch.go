package opencode

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/fsevents"
)

// watch watches directories, also those that do not exist yet. Follow owns it.
type watch struct {
	log    *slog.Logger
	notify *fsevents.Listener // nil: only surveys
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

// set watches exactly these directories, or their nearest existing parents. A directory may be created before its
// parent is watched, so this is repeated until nothing changes.
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

// nearest watches dir, or its nearest existing parent, and returns which.
func (w *watch) nearest(dir string) string {
	for w.notify.Add(dir) != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// leadsTo reports whether name is a watched directory, or a parent of one.
func (w *watch) leadsTo(name string) bool {
	return slices.ContainsFunc(w.dirs, func(dir string) bool {
		return dir == name || strings.HasPrefix(dir, name+string(filepath.Separator))
	})
}
