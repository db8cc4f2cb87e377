package watch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
)

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

// depth returns how many levels a directory lies below Root.
func (w *Watcher) depth(dir string) int {
	rel, below := w.rel(dir)
	if !below {
		return 0
	}
	return strings.Count(rel, "/") + 1
}

// addChanged adds a file to news unless it is up to date.
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
