package config

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"resumed/internal/fsevents"
	"resumed/internal/mounts"
)

// Watch follows the file until ctx is done. An empty path stands for no file
// so far: Watch then follows the places where Find would look for one. A file
// that is deleted, or empty where it was not, is an error for Apply.
func Watch(ctx context.Context, path string, opts WatchOptions) error {
	if opts.Apply == nil {
		return errors.New("watch configuration: no Apply")
	}
	w, err := newWatch(path, opts)
	if err != nil {
		return err
	}
	defer w.close()
	w.begin()
	return w.run(ctx)
}

// WatchOptions is what Watch needs besides the path.
type WatchOptions struct {
	// Apply is called by Watch itself, one call at a time: with a configuration
	// that was checked, or with what is wrong with the file. It is called once
	// for each settled change and for each request, and returns why that
	// configuration is not in force.
	Apply func(Config, error) error

	// Requests ask for a reload even where nothing changed. Each is called once,
	// with what Apply returned for the file as it was after the request.
	Requests <-chan func(error)

	// Current is what was loaded before the watch began. Where the file says
	// something else by then, that is a change too. The zero Config stands for
	// whatever the file says.
	Current Config

	Known Known // the agents that are built in

	Log *slog.Logger // nil: nothing is logged
}

const (
	// quiet is how long nothing may happen before a change counts as settled:
	// one save of an editor is several events.
	quiet = 200 * time.Millisecond

	// absence is how long a file may be gone or empty before that is meant: many
	// programs truncate and then write.
	absence = 700 * time.Millisecond

	// longest bounds the wait for a file that never rests.
	longest = 3 * time.Second

	// recheck is how often the file is looked at where no event came, and
	// recheckShared the same where other machines write, of which no event tells.
	recheck       = time.Minute
	recheckShared = 10 * time.Second

	// recheckBlind is the same where events cannot be had at all.
	recheckBlind = 500 * time.Millisecond
)

// watch is the state of one Watch. It is owned by its goroutine.
type watch struct {
	opts   WatchOptions
	log    *slog.Logger
	places []string // where the file is or may appear, best first

	notifier *fsevents.Listener // nil: events cannot be had
	events   <-chan struct{}
	route    route // what is watched now
	blind    bool  // some of it could not be watched
	shared   bool  // some of it lies where other machines write

	last   sight         // what was told last
	mark   fingerprint   // of the file when it was looked at last
	found  bool          // there was a file
	filled bool          // it was not empty
	asked  []func(error) // who waits for a reload

	settle  *time.Timer
	pending bool
	since   time.Time // the first event of this change
	latest  time.Time // the last one
}

func newWatch(path string, opts WatchOptions) (*watch, error) {
	w := &watch{
		opts:   opts,
		log:    cmp.Or(opts.Log, slog.New(slog.DiscardHandler)),
		settle: time.NewTimer(time.Hour),
	}
	w.settle.Stop()
	w.places = places(os.Getenv)
	if path != "" {
		full, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		w.places, w.found = []string{full}, true
	}
	notifier, err := fsevents.New()
	if err != nil {
		w.log.Warn("configuration is polled because it cannot be watched", "err", err)
		w.blind = true
		return w, nil
	}
	w.notifier, w.events = notifier, notifier.Ready()
	return w, nil
}

func (w *watch) close() {
	w.settle.Stop()
	if w.notifier != nil {
		_ = w.notifier.Close()
	}
}

// begin looks at the file for the first time.
func (w *watch) begin() {
	w.last = w.look()
	w.filled = w.last.state == present
	if reflect.ValueOf(w.opts.Current).IsZero() {
		return
	}
	nothing, _ := parse("", nil, w.opts.Known)
	w.filled = w.filled || !reflect.DeepEqual(w.opts.Current, nothing)
	if cfg, err := w.read(w.last); err != nil || !reflect.DeepEqual(cfg, w.opts.Current) {
		w.last = sight{}
		w.stir()
	}
}

func (w *watch) run(ctx context.Context) error {
	interval := w.interval()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.events:
			w.hear()
		case request := <-w.opts.Requests:
			w.asked = append(w.asked, request)
			if !w.pending {
				w.tell(w.look())
			}
		case <-tick.C:
			if fingerprintOf(w.places) != w.mark {
				w.stir()
			}
		case <-w.settle.C:
			w.rest()
		}
		if next := w.interval(); next != interval {
			interval = next
			tick.Reset(interval)
		}
	}
}

// hear looks whether events that have come concern the file.
func (w *watch) hear() {
	events, err := w.notifier.Take(math.MaxInt)
	if err != nil {
		w.log.Debug("configuration events were lost", "err", err)
	}
	concerns := func(e fsnotify.Event) bool { return w.route.concerns(filepath.Clean(e.Name)) }
	if err != nil || slices.ContainsFunc(events, concerns) {
		w.follow()
		w.stir()
	}
}

func (w *watch) interval() time.Duration {
	switch {
	case w.blind:
		return recheckBlind
	case w.shared:
		return recheckShared
	default:
		return recheck
	}
}

// stir starts or prolongs the wait for a change to settle.
func (w *watch) stir() {
	w.latest = time.Now()
	if !w.pending {
		w.pending, w.since = true, w.latest
	}
	w.settle.Reset(max(0, min(quiet, time.Until(w.since.Add(longest)))))
}

// rest ends the wait, unless the file looks as if somebody is still writing.
func (w *watch) rest() {
	seen := w.look()
	if doubt := time.Until(w.latest.Add(absence)); seen.state.vague() && seen != w.last && doubt > 0 {
		w.settle.Reset(doubt)
		return
	}
	w.pending = false
	w.tell(seen)
}

// tell passes on what was seen, once.
func (w *watch) tell(seen sight) {
	if seen == w.last && len(w.asked) == 0 {
		return
	}
	var err error
	if nothingYet := w.last.state == 0 && seen.state == absent && !w.found; !nothingYet {
		w.last = seen
		var cfg Config
		cfg, err = w.read(seen)
		err = w.opts.Apply(cfg, err)
	}
	for _, answer := range w.asked {
		answer(err)
	}
	w.asked = nil
}

// read makes a configuration of what was seen.
func (w *watch) read(seen sight) (Config, error) {
	const stays = "; the last good configuration stays"
	switch seen.state {
	case absent:
		if !w.found {
			return parse("", nil, w.opts.Known)
		}
		return Config{}, &Problem{File: w.places[0], Want: "is gone" + stays}
	case unreadable:
		return Config{}, &Problem{File: seen.path, Want: seen.content + stays}
	case empty:
		if w.filled {
			return Config{}, &Problem{File: seen.path, Want: "is empty where it was not" + stays + ". If the defaults are meant, write a comment into it"}
		}
	case present:
		w.filled = true
	}
	// From now on it is this file, and its absence means something.
	w.places, w.found = []string{seen.path}, true
	return parse(seen.path, []byte(seen.content), w.opts.Known)
}

// sight is what a look at the file showed. Equal sights mean that nothing
// changed.
type sight struct {
	state   sightState
	path    string
	content string // unreadable: why
}

type sightState uint8

const (
	absent sightState = iota + 1
	empty
	unreadable
	present
)

// vague reports whether somebody may be about to write the file.
func (s sightState) vague() bool { return s == absent || s == empty }

// look reads the first of the places where there is a file. The watches stand
// before it is read, so no change falls between.
func (w *watch) look() sight {
	w.follow()
	w.mark = fingerprintOf(w.places)
	for _, path := range w.places {
		info, err := os.Stat(path)
		switch {
		case err != nil && missing(err):
			continue
		case err == nil && !info.Mode().IsRegular():
			// A pipe would keep the watch waiting for ever.
			err = errors.New("is not a regular file")
		}
		var data []byte
		if err == nil {
			data, err = readFile(path)
		}
		switch {
		case err != nil && missing(err):
			continue
		case err != nil:
			if e, ok := errors.AsType[*fs.PathError](err); ok {
				err = e.Err
			}
			return sight{unreadable, path, err.Error()}
		case strings.TrimSpace(string(data)) == "":
			return sight{empty, path, string(data)}
		default:
			return sight{present, path, string(data)}
		}
	}
	return sight{state: absent}
}

// fingerprint tells whether a file may have changed, without reading it.
type fingerprint struct {
	path  string
	inode uint64
	size  int64
	mtime time.Time
	mode  fs.FileMode
	uid   uint32
}

func fingerprintOf(places []string) fingerprint {
	for _, path := range places {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		f := fingerprint{path: path, size: info.Size(), mtime: info.ModTime(), mode: info.Mode()}
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			f.inode, f.uid = s.Ino, s.Uid
		}
		return f
	}
	return fingerprint{}
}

// route is what lies on the way to a file.
type route struct {
	dirs  map[string]bool // to be watched
	names map[string]bool // in them, what the way leads through
}

func (r route) concerns(name string) bool { return r.names[name] || r.dirs[name] }

// mostLinks is how many symbolic links a way may have, as in the kernel.
const mostLinks = 40

// trace walks to path and notes what can turn the way elsewhere: the file
// itself, every symbolic link, and the first part that does not exist yet.
func (r route) trace(path string) {
	at, rest, links := "/", parts(path), 0
	for len(rest) > 0 {
		name := filepath.Join(at, rest[0])
		info, err := os.Lstat(name)
		if err != nil || len(rest) == 1 || info.Mode()&fs.ModeSymlink != 0 {
			r.dirs[at], r.names[name] = true, true
		}
		rest = rest[1:]
		switch {
		case err != nil:
			return
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if links++; err != nil || links > mostLinks {
				return
			}
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(parts(target), rest...)
		default:
			at = name
		}
	}
}

func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// follow watches the way to the file as it is now.
func (w *watch) follow() {
	r := route{map[string]bool{}, map[string]bool{}}
	for _, path := range w.places {
		r.trace(path)
	}
	w.route = r
	if w.notifier == nil {
		return
	}
	for _, dir := range w.notifier.Added() {
		if !r.dirs[dir] {
			_ = w.notifier.Remove(dir) // it may be gone already
		}
	}
	blind := false
	w.shared = false
	for dir := range r.dirs {
		w.shared = w.shared || mounts.Network(dir) != ""
		// Again and again: the directory may be another one of the same name.
		if err := w.notifier.Add(dir); err != nil {
			blind = true
			if !w.blind {
				w.log.Warn("configuration is polled because it cannot be watched", "dir", dir, "err", err)
			}
		}
	}
	w.blind = blind
}
