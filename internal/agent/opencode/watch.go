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
	before := []string{w.waypoints[dir]}
	for { // the next one may have come before the one above it was watched: look again until nothing has changed
		at, err := w.nearest(dir)
		if err != nil {
			w.log.Debug("watch directory", "dir", dir, "err", err)
			return
		}
		if at == dir {
			at = ""
		}
		w.waypoints[dir] = at
		if at == "" || at == before[len(before)-1] {
			break
		}
		before = append(before, at)
	}
	for _, passed := range before {
		if passed == "" || w.needed(passed) {
			continue
		}
		if err := w.notify.Remove(passed); err != nil && !errors.Is(err, fsnotify.ErrNonExistentWatch) {
			w.log.Debug("unwatch directory", "dir", passed, "err", err)
		}
	}
}

// nearest watches dir, or the nearest directory above it that is there, and returns which.
func (w *watch) nearest(dir string) (string, error) {
	err := w.notify.Add(dir)
	for ; err != nil && dir != filepath.Dir(dir); err = w.notify.Add(dir) {
		dir = filepath.Dir(dir)
	}
	return dir, err
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
