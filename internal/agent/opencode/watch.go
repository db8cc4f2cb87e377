package opencode

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"

	"resumed/internal/fsevents"
)

// watch hears of changes in directories, also of directories that are not
// there yet. It is owned by Follow.
type watch struct {
	log    *slog.Logger
	notify *fsevents.Listener // nil: the rescan has to do
	events <-chan struct{}

	// waypoints are the parents that are watched for a directory to appear.
	waypoints map[string]string // by the directory that is awaited
}

func newWatch(log *slog.Logger, deaf bool) *watch {
	w := &watch{log: log, waypoints: make(map[string]string)}
	if deaf {
		return w
	}
	notify, err := fsevents.New()
	if err != nil {
		log.Warn("no file events, databases are looked at by the clock", "every", rescan, "err", err)
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

// add watches dir, or the nearest directory above it that is there. Adding one
// again changes nothing.
func (w *watch) add(dir string) {
	if w.notify == nil {
		return
	}
	at := dir
	err := w.notify.Add(at)
	for ; err != nil && at != filepath.Dir(at); err = w.notify.Add(at) {
		at = filepath.Dir(at)
	}
	if err != nil {
		w.log.Debug("watch directory", "dir", dir, "err", err)
		return
	}
	before := w.waypoints[dir]
	if at == dir {
		at = ""
	}
	w.waypoints[dir] = at
	if before != "" && before != at && !w.needed(before) {
		if err := w.notify.Remove(before); err != nil && !errors.Is(err, fsnotify.ErrNonExistentWatch) {
			w.log.Debug("unwatch directory", "dir", before, "err", err)
		}
	}
}

func (w *watch) needed(dir string) bool {
	for awaited, at := range w.waypoints {
		if at == dir || at == "" && awaited == dir {
			return true
		}
	}
	return false
}

// isWaypoint reports whether name lies on the way to a directory that is
// awaited, or is a watched directory itself.
func (w *watch) isWaypoint(name string) bool {
	for awaited := range w.waypoints {
		if awaited == name || strings.HasPrefix(awaited, name+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// databaseOf returns the database that a file belongs to.
func databaseOf(name string) string {
	return strings.TrimSuffix(name, "-wal")
}
