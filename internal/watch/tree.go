package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// found is a file that a scan came across and that has changed.
type found struct {
	path string
	stamp
}

// handle deals with one event.
func (w *Watcher) handle(ctx context.Context, ev fsnotify.Event) {
	switch {
	case !w.attached:
		if w.towardsRoot(ev.Name) {
			w.rescan(ctx)
		}
	case ev.Name == w.opts.Root:
		if ev.Has(fsnotify.Remove | fsnotify.Rename) {
			w.rescan(ctx)
		}
	case ev.Has(fsnotify.Remove | fsnotify.Rename):
		w.left(ctx, ev.Name, ev.Has(fsnotify.Remove))
	case ev.Has(fsnotify.Create):
		w.came(ctx, ev.Name)
	case ev.Has(fsnotify.Write), w.told[ev.Name] != "": // a change of mode may have mended it
		if w.wanted(ev.Name) {
			w.tend(ctx, ev.Name)
		}
	}
}

// came deals with a name that is new in a directory.
func (w *Watcher) came(ctx context.Context, path string) {
	info, err := os.Lstat(path)
	if _, below := w.rel(path); err != nil || !below {
		return // gone already, or an event of Root's parent
	}
	if info.IsDir() {
		var news []found
		w.walk(ctx, path, &news)
		inOrder(news)
		now := min(len(news), atOnce)
		w.todo = append(news[now:], w.todo...)
		for _, f := range news[:now] {
			w.tend(ctx, f.path)
		}
		return
	}
	if w.wanted(path) {
		w.tend(ctx, path)
		return
	}
	id := stampOf(info).id
	if f := w.byID[id]; f != nil && !w.holds(f.path, id) {
		w.readRest(ctx, f, path)
	}
}

// left deals with a name that went from a directory. Its state stays until a
// scan misses it too: a rename tells of the new name in the next event.
func (w *Watcher) left(ctx context.Context, path string, deleted bool) {
	if _, dir := w.dirs[path]; dir {
		w.unwatch(path)
		return
	}
	f := w.files[path]
	if f == nil {
		return
	}
	if deleted {
		w.bury(f)
	}
	w.tend(ctx, path) // another one may have the name already
}

// rescan looks at everything: at the start, by the clock, and when events may
// have been missed.
func (w *Watcher) rescan(ctx context.Context) {
	w.round++
	w.owing = false
	var news []found
	for w.attach() && !w.walk(ctx, w.opts.Root, &news) { // gone again meanwhile
		w.detach()
	}
	for dir, round := range w.dirs {
		if round != w.round {
			w.unwatch(dir)
		}
	}
	inOrder(news)
	w.todo = news // with what was left of the last time
}

// forgetMissed drops the state of files that are gone.
func (w *Watcher) forgetMissed() {
	if w.missedIn == w.round {
		return
	}
	w.missedIn = w.round
	for _, f := range w.files {
		if f.round+1 < w.round { // missed twice: no rename is on its way
			w.forget(f)
		}
	}
}

// inOrder sorts files, those that changed last first: they are the ones that
// somebody waits for.
func inOrder(news []found) {
	slices.SortFunc(news, func(a, b found) int {
		if a.mtime != b.mtime {
			return cmp.Compare(b.mtime, a.mtime)
		}
		return strings.Compare(a.path, b.path)
	})
}

// watch asks for a directory's events. Doing so again is cheap, and mends a
// watch that was lost.
func (w *Watcher) watch(dir string) error {
	w.dirs[dir] = w.round
	if w.notify == nil {
		return nil
	}
	if !w.descriptors.take(dir) {
		w.ignore(dir)
		w.complain(w.opts.Root, fmt.Errorf("watch directory: events of all of its files would keep too many of them open (raise ulimit -n; until then some are looked at every %s)", w.opts.Rescan))
		return nil
	}
	err := w.notify.Add(dir)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		// One complaint for the root: the limit is the same for all below it.
		w.complain(w.opts.Root, fmt.Errorf("watch directory: %w (raise fs.inotify.max_user_watches; until then files are looked at every %s)", err, w.opts.Rescan))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		w.complain(dir, fmt.Errorf("watch directory: %w", err))
	}
	return err
}

// unwatch gives up a directory and those below it. A directory that was moved
// must be given up before it is watched by its new name: the kernel knows only
// one watch of it, and that would keep the old name.
func (w *Watcher) unwatch(dir string) {
	for d := range w.dirs {
		if d != dir && !strings.HasPrefix(d, dir+"/") {
			continue
		}
		delete(w.dirs, d)
		delete(w.told, d)
		w.ignore(d)
	}
}

func (w *Watcher) ignore(dir string) {
	if w.notify != nil && dir != "" {
		w.descriptors.leave(dir)
		// The kernel has often given it up already: then there is nothing to do.
		_ = w.notify.Remove(dir)
	}
}

// attach finds out whether Root is there, and which directory it is. While it
// is not, the nearest parent that exists is watched for its coming.
func (w *Watcher) attach() bool {
	for watched := ""; ; watched = w.parent {
		info, err := os.Stat(w.opts.Root)
		if err == nil && info.IsDir() {
			w.attachTo(stampOf(info).id)
			return true
		}
		w.detach()
		if err == nil {
			err = errors.New("not a directory")
		}
		if !errors.Is(err, fs.ErrNotExist) {
			w.complain(w.opts.Root, err)
		}
		// Root may have come before its parent was watched: look again until
		// nothing has changed since.
		parent := nearestParent(w.opts.Root)
		if parent == watched || w.notify == nil {
			return false
		}
		if parent != w.parent {
			w.ignore(w.parent)
		}
		w.parent = parent
		if err := w.notify.Add(parent); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.complain(parent, fmt.Errorf("watch directory: %w", err))
			return false
		} else if err != nil {
			w.parent = "" // gone as well: there is one above it
		}
	}
}

// attachTo takes a directory for Root.
func (w *Watcher) attachTo(id fileID) {
	if w.attached && id == w.rootID {
		return
	}
	w.unwatch(w.opts.Root) // they were of another directory
	w.ignore(w.parent)
	w.attached, w.rootID, w.parent = true, id, ""
	delete(w.told, w.opts.Root)
}

// detach gives up what was watched of a Root that is gone.
func (w *Watcher) detach() {
	if w.attached {
		w.attached = false
		w.unwatch(w.opts.Root)
	}
}

// nearestParent returns the closest directory above path that exists.
func nearestParent(path string) string {
	for {
		path = filepath.Dir(path)
		info, err := os.Stat(path)
		if err == nil && info.IsDir() || path == filepath.Dir(path) {
			return path
		}
	}
}

// towardsRoot says whether a change of that path may bring Root: the parent
// that is watched may be a busy one.
func (w *Watcher) towardsRoot(path string) bool {
	return path == w.parent || path == w.opts.Root || strings.HasPrefix(w.opts.Root, strings.TrimSuffix(path, "/")+"/")
}
