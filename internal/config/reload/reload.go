// Package reload watches the configuration file, however an editor or a program saves it.
package reload

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"resumed/internal/config"
	"resumed/internal/fsevents"
	"resumed/internal/mounts"
	"resumed/internal/ownership"
)

// Options configures Watch.
type Options struct {
	// Apply is called by Watch, one call at a time: with a checked configuration, or with what is wrong
	// with the file. It is called once for each change and each request.
	Apply func(config.Config, error)

	// Requests ask for a reload even if nothing changed: Apply is called with the file as it is after
	// the request.
	Requests <-chan os.Signal

	// Current is the configuration that was loaded before. A file that differs counts as a change. The
	// zero Config accepts any file.
	Current config.Config

	// Named says that a person named the file: no other counts. Otherwise the best of config.Places does, as at
	// a start.
	Named bool

	Known config.Known // the built-in agents

	Log *slog.Logger // nil: nothing is logged
}

const (
	// quiet is how long the file must stay unchanged before it is read: one save
	// of an editor is several changes.
	quiet = 200 * time.Millisecond

	// absence is how long a file may be missing or empty before that counts: many programs truncate a
	// file and then write it.
	absence = 700 * time.Millisecond

	// longest limits the wait for a file that never stops changing, and longestOpen for one that a program has
	// open for writing.
	longest     = 3 * time.Second
	longestOpen = 10 * time.Second

	// How often the file is checked without an event: usually, if other machines can write it, and if
	// there are no events at all.
	recheck       = time.Minute
	recheckShared = 10 * time.Second
	recheckBlind  = 500 * time.Millisecond
)

// watch is the state of one Watch, owned by its goroutine.
type watch struct {
	opts   Options
	log    *slog.Logger
	places []string // where the file is or may appear, best first

	listener *fsevents.Listener // nil: there are no events
	events   <-chan struct{}
	recheck  time.Duration

	seen     content // the file at the last check
	reported content // what Apply was called with last
	inUse    string  // the file that was used last; empty: none
	filled   bool    // it was not empty
	asked    bool    // a request waits for the end of a change

	changing  time.Time // when the file began to differ from what was reported; zero: it does not
	changedAt time.Time // when it last changed
}

// Watch reports changes of the file until ctx is done. An empty path means that there is no file yet.
// A file that is deleted when there is no other, or that becomes empty, is an error for Apply.
func Watch(ctx context.Context, path string, opts Options) error {
	w, err := newWatch(path, opts)
	if err != nil {
		return err
	}
	if listener, err := fsevents.New(); err != nil {
		w.log.Warn("configuration is polled because it cannot be watched", "err", err)
	} else {
		defer listener.Close()
		w.listener, w.events = listener, listener.Ready()
	}
	w.begin()
	return w.run(ctx)
}

func newWatch(path string, opts Options) (*watch, error) {
	w := &watch{
		opts:    opts,
		log:     cmp.Or(opts.Log, slog.New(slog.DiscardHandler)),
		places:  config.Places(os.Getenv),
		recheck: recheckBlind,
	}
	if path == "" {
		return w, nil
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if w.inUse = full; opts.Named || !slices.Contains(w.places, full) {
		w.places = []string{full}
	}
	return w, nil
}

func (w *watch) run(ctx context.Context) error {
	wait := w.recheck
	if !w.changing.IsZero() {
		wait = quiet
	}
	for ; ; wait = w.check() {
		select {
		case <-ctx.Done():
			return nil
		case <-w.events:
			_, _ = w.listener.Take(math.MaxInt) // check reads the file itself
		case <-w.opts.Requests:
			w.asked = true
		case <-time.After(wait):
		}
	}
}

// begin reads the file for the first time, and compares it with what was loaded before.
func (w *watch) begin() {
	w.watchDirs()
	w.seen = w.read()
	w.reported = w.seen
	w.filled = w.reported.path != "" && !w.reported.blank()
	if reflect.ValueOf(w.opts.Current).IsZero() {
		return
	}
	nothing, _ := config.Parse("", nil, w.opts.Known)
	w.filled = w.filled || !reflect.DeepEqual(w.opts.Current, nothing)
	if cfg, err := w.parse(w.reported); err != nil || !reflect.DeepEqual(cfg, w.opts.Current) {
		w.reported = content{problem: "not read yet"}
		w.changing, w.changedAt = time.Now(), time.Now()
	}
}

// check reads the file, reports a change that is over, and returns when to check again. The directories
// are watched before the file is read, so that no change is missed.
func (w *watch) check() time.Duration {
	w.watchDirs()
	before := w.seen
	w.seen = w.read()
	if w.seen == w.reported && !w.asked {
		w.changing = time.Time{}
		return w.recheck
	}
	if w.seen != before {
		w.changedAt = time.Now()
		if w.changing.IsZero() {
			w.changing = w.changedAt
		}
	}
	unchanged := quiet
	if w.seen != w.reported && (w.seen.blank() || w.seen.path != w.inUse) { // a program may be about to write it
		unchanged = absence
	}
	left := min(time.Until(w.changedAt.Add(unchanged)), time.Until(w.changing.Add(longest)))
	switch {
	case w.changing.IsZero():
	case left > 0:
		return left
	case time.Since(w.changing) < longestOpen && isWritten(w.seen.path):
		return quiet
	}
	w.reported, w.changing, w.asked = w.seen, time.Time{}, false
	w.opts.Apply(w.parse(w.seen))
	return w.recheck
}

func (w *watch) parse(c content) (config.Config, error) {
	const stays = "; the last good configuration stays"
	switch {
	case c.problem != "":
		return config.Config{}, &config.Problem{File: c.path, Want: c.problem + stays}
	case c.path == "" && w.inUse != "":
		return config.Config{}, &config.Problem{File: w.inUse, Want: "is gone" + stays}
	case c.path == "":
		return config.Parse("", nil, w.opts.Known)
	case c.blank() && w.filled && c.path == w.inUse:
		return config.Config{}, &config.Problem{File: c.path, Want: "is empty where it was not" + stays + ". If the defaults are meant, write a comment into it"}
	}
	w.inUse, w.filled = c.path, !c.blank()
	return config.Parse(c.path, []byte(c.text), w.opts.Known)
}

// content is what the file held when it was read. The zero content means that there is no file.
type content struct {
	path    string
	text    string
	problem string // why it cannot be read
}

// blank reports whether a program may be about to write the file.
func (c content) blank() bool { return c.problem == "" && strings.TrimSpace(c.text) == "" }

func (w *watch) read() content {
	for _, path := range w.places {
		data, err := config.ReadFile(path)
		switch {
		case err == nil:
			return content{path: path, text: string(data)}
		case errors.Is(err, syscall.EISDIR):
			return content{path: path, problem: "is not a regular file"}
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			if e, ok := errors.AsType[*fs.PathError](err); ok {
				err = e.Err
			}
			return content{path: path, problem: err.Error()}
		}
	}
	return content{}
}

// watchDirs watches the directories that decide which file is used. A directory can appear before its
// parent is watched, so it repeats until the directories stay the same.
func (w *watch) watchDirs() {
	if w.listener == nil {
		return
	}
	before := w.recheck
	var dirs map[string]bool
	for range mostRounds {
		found := w.directories()
		if maps.Equal(found, dirs) {
			break
		}
		dirs, w.recheck = found, recheck
		for dir := range dirs {
			if mounts.Network(dir) != "" {
				w.recheck = min(w.recheck, recheckShared)
			}
			// Also if it is watched already: another directory may have its name now.
			if err := w.listener.Add(dir); err != nil {
				w.recheck = recheckBlind
				if before != recheckBlind {
					w.log.Warn("configuration is polled because it cannot be watched", "dir", dir, "err", err)
				}
			}
		}
	}
	for _, dir := range w.listener.Added() {
		if !dirs[dir] {
			_ = w.listener.Remove(dir) // it may be gone already
		}
	}
}

// mostRounds is more than the directory levels that can appear meanwhile.
const mostRounds = 20

func (w *watch) directories() map[string]bool {
	dirs := make(map[string]bool)
	for _, path := range w.places {
		for _, dir := range ownership.Directories(path) {
			dirs[dir] = true
		}
	}
	return dirs
}
