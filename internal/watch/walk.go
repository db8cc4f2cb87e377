package watch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// listing is the content of one directory. Listings are made in goroutines of their own, as many
// at a time as there are processors.
type listing struct {
	dir   string
	dirs  []string // below it
	files []found  // that Match wants
	err   error
	done  chan struct{} // closed when it is made
}

// walk watches a directory and those below it, and collects the files that have
// changed. The watch comes before the listing: a file made between the two is in
// the listing, a later one sends an event. It returns false if the directory
// is gone.
func (w *Watcher) walk(ctx context.Context, top string, news *[]found) bool {
	var ahead []*listing
	for dirs := []string{top}; len(dirs) > 0 || len(ahead) > 0; {
		for len(dirs) > 0 && len(ahead) <= runtime.GOMAXPROCS(0) {
			dir := dirs[0]
			dirs = dirs[1:]
			if w.depth(dir) > w.opts.Depth || ctx.Err() != nil {
				continue
			}
			if errors.Is(w.watch(dir), fs.ErrNotExist) {
				if dir == top {
					return false
				}
				continue
			}
			l := &listing{dir: dir, done: make(chan struct{})}
			ahead = append(ahead, l)
			go l.make(w.wanted)
		}
		if len(ahead) == 0 {
			break
		}
		l := ahead[0]
		ahead = ahead[1:]
		<-l.done
		if errors.Is(l.err, fs.ErrNotExist) && l.dir == top {
			return false
		}
		if l.err != nil && !errors.Is(l.err, fs.ErrNotExist) {
			w.warn(l.dir, l.err)
		}
		for _, f := range l.files {
			w.addChanged(f, news)
		}
		dirs = append(dirs, l.dirs...)
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

// make lists the directory.
func (l *listing) make(wanted func(path string) bool) {
	defer close(l.done)
	dir, err := os.Open(l.dir)
	if err != nil {
		l.err = err
		return
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	l.err = err
	within := strings.TrimSuffix(l.dir, "/") + "/"
	for _, e := range entries {
		path := within + e.Name()
		if e.IsDir() {
			l.dirs = append(l.dirs, path)
		} else if wanted(path) {
			if info, err := e.Info(); err == nil { // else it is gone already
				l.files = append(l.files, found{path, stampOf(info)})
			}
		}
	}
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
