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

type found struct {
	path string
	stamp
}

func (w *Watcher) handleEvent(ctx context.Context, ev fsnotify.Event) {
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
		w.removed(ctx, ev.Name, ev.Has(fsnotify.Remove))
	case ev.Has(fsnotify.Create):
		w.created(ctx, ev.Name)
	case ev.Has(fsnotify.Write), w.warned[ev.Name] != "": // a change of its mode may have made it readable
		if w.wanted(ev.Name) {
			w.readNew(ctx, ev.Name)
		}
	}
}

func (w *Watcher) created(ctx context.Context, path string) {
	info, err := os.Lstat(path)
	if _, below := w.rel(path); err != nil || !below {
		return // gone already, or an event of Root's parent
	}
	if info.IsDir() {
		var news []found
		w.walk(ctx, path, &news)
		newestFirst(news)
		now := min(len(news), newDirFiles)
		w.todo = append(news[now:], w.todo...)
		for _, f := range news[:now] {
			w.readNew(ctx, f.path)
		}
		return
	}
	if w.wanted(path) {
		w.readNew(ctx, path)
		return
	}
	id := stampOf(info).id
	if f := w.byID[id]; f != nil && !w.names(f.path, id) {
		w.readRest(ctx, f, path)
	}
}

// removed handles a name that is gone from a directory. The state stays until two scans have
// missed the file: after a rename the next event has the new name.
func (w *Watcher) removed(ctx context.Context, path string, deleted bool) {
	if _, dir := w.dirs[path]; dir {
		w.unwatch(path)
		return
	}
	f := w.files[path]
	if f == nil {
		return
	}
	if info, err := os.Lstat(path); deleted && (err != nil || !f.upToDate(stampOf(info))) { // else its successor was read already
		w.markDeleted(f)
	}
	w.readNew(ctx, path) // a new file may have the name already
}

// rescan looks at everything: at the start, by the clock, and after missed events.
func (w *Watcher) rescan(ctx context.Context) {
	w.round++
	w.readFailed = false
	var news []found
	for w.attach() && !w.walk(ctx, w.opts.Root, &news) { // gone again meanwhile
		w.detach()
	}
	for dir, round := range w.dirs {
		if round != w.round {
			w.unwatch(dir)
		}
	}
	newestFirst(news)
	w.todo = news // includes what was left of the last scan
}

// forgetMissed drops the state of files that are gone.
func (w *Watcher) forgetMissed() {
	if w.forgotIn == w.round {
		return
	}
	w.forgotIn = w.round
	for _, f := range w.files {
		if f.round+1 < w.round { // missed twice: it was not renamed
			w.forget(f)
		}
	}
}

// newestFirst sorts files, the last changed one first: a person may be waiting for it.
func newestFirst(news []found) {
	slices.SortFunc(news, func(a, b found) int {
		if a.mtime != b.mtime {
			return cmp.Compare(b.mtime, a.mtime)
		}
		return strings.Compare(a.path, b.path)
	})
}

// watch makes a directory send events. Again is cheap, and restores a watch that was lost.
func (w *Watcher) watch(dir string) error {
	w.dirs[dir] = w.round
	if w.notify == nil {
		return nil
	}
	if !w.descriptors.take(dir) {
		w.removeWatch(dir)
		w.warn(w.opts.Root, fmt.Errorf("watch directory: events of all of its files would keep too many of them open (raise ulimit -n; until then some are looked at every %s)", w.pause))
		return nil
	}
	err := w.notify.Add(dir)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		// One warning for the root: the limit is the same for all directories.
		w.warn(w.opts.Root, fmt.Errorf("watch directory: %w (raise fs.inotify.max_user_watches; until then files are looked at every %s)", err, w.pause))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		w.warn(dir, fmt.Errorf("watch directory: %w", err))
	}
	return err
}

// unwatch stops watching a directory and those below it. A directory that was moved
// must be unwatched before it is watched under its new name: the kernel has one watch for
// it, which would keep the old name.
func (w *Watcher) unwatch(dir string) {
	for d := range w.dirs {
		if d != dir && !strings.HasPrefix(d, dir+"/") {
			continue
		}
		delete(w.dirs, d)
		delete(w.warned, d)
		w.removeWatch(d)
	}
}

func (w *Watcher) removeWatch(dir string) {
	if w.notify != nil && dir != "" {
		w.descriptors.leave(dir)
		// Often the kernel has removed it already.
		_ = w.notify.Remove(dir)
	}
}

// attach finds out whether Root exists, and which directory it is. While it does not
// exist, the nearest parent that exists is watched.
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
			w.warn(w.opts.Root, err)
		}
		// Root may have been created before its parent was watched: look again
		// until nothing changes.
		parent := nearestParent(w.opts.Root)
		if parent == watched || w.notify == nil {
			return false
		}
		if parent != w.parent {
			w.removeWatch(w.parent)
		}
		w.parent = parent
		if err := w.notify.Add(parent); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.warn(parent, fmt.Errorf("watch directory: %w", err))
			return false
		} else if err != nil {
			w.parent = "" // gone as well: try the one above
		}
	}
}

func (w *Watcher) attachTo(id fileID) {
	if w.attached && id == w.rootID {
		return
	}
	w.unwatch(w.opts.Root) // the watches were of another directory
	w.removeWatch(w.parent)
	w.attached, w.rootID, w.parent = true, id, ""
	delete(w.warned, w.opts.Root)
}

func (w *Watcher) detach() {
	if w.attached {
		w.attached = false
		w.unwatch(w.opts.Root)
	}
}

func nearestParent(path string) string {
	for {
		path = filepath.Dir(path)
		info, err := os.Stat(path)
		if err == nil && info.IsDir() || path == filepath.Dir(path) {
			return path
		}
	}
}

// towardsRoot says whether Root may exist after a change of that path: most changes do not matter.
func (w *Watcher) towardsRoot(path string) bool {
	return path == w.parent || path == w.opts.Root || strings.HasPrefix(w.opts.Root, strings.TrimSuffix(path, "/")+"/")
}

// walk watches a directory and those below it, and collects the files that have
// changed. The watch comes before the listing: a file made between the two is in
// the listing, a later one sends an event. It returns false if the directory
// is gone.
func (w *Watcher) walk(ctx context.Context, dir string, news *[]found) bool {
	if w.depth(dir) > w.opts.Depth || ctx.Err() != nil {
		return true
	}
	if errors.Is(w.watch(dir), fs.ErrNotExist) {
		return false
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		w.warn(dir, err)
	}
	within := strings.TrimSuffix(dir, "/") + "/"
	for _, e := range entries {
		path := within + e.Name()
		if e.IsDir() {
			w.walk(ctx, path, news)
		} else if w.wanted(path) {
			if info, err := e.Info(); err == nil { // else it is gone already
				w.addChanged(found{path, stampOf(info)}, news)
			}
		}
	}
	return true
}

func (w *Watcher) depth(dir string) int {
	rel, below := w.rel(dir)
	if !below {
		return 0
	}
	return strings.Count(rel, "/") + 1
}

func (w *Watcher) addChanged(f found, news *[]found) {
	if known := w.files[f.path]; known != nil {
		known.round = w.round
		if known.upToDate(f.stamp) {
			return
		}
	} else if stored, _ := w.opts.Known(f.path); w.skipUnchanged(f.path, f.stamp, stored) {
		return
	}
	*news = append(*news, f)
}
