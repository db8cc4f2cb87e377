package opencode

import (
	"log/slog"
	"maps"
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
	at     map[string]string // what is watched for each directory: itself, or the nearest one above that is there
}

func newWatch(log *slog.Logger, deaf bool) *watch {
	w := &watch{log: log, at: make(map[string]string)}
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

// add watches dir, or the nearest directory above it that is there. The next one may have come
// before the one above it was watched: that is tried until nothing changes.
func (w *watch) add(dir string) {
	if w.notify == nil {
		return
	}
	var before []string
	for at := w.nearest(dir); at != w.at[dir]; at = w.nearest(dir) {
		before = append(before, w.at[dir])
		w.at[dir] = at
	}
	watched := slices.Collect(maps.Values(w.at))
	for _, passed := range before {
		if passed != "" && !slices.Contains(watched, passed) {
			_ = w.notify.Remove(passed) // it may be gone
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
	for dir := range w.at {
		if dir == name || strings.HasPrefix(dir, name+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// databaseOf returns the database that a file belongs to.
func databaseOf(name string) string { return strings.TrimSuffix(name, "-wal") }
