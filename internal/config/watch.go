package config

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is how long nothing may happen before a change counts as settled:
	// one save of an editor is several events.
	quiet = 200 * time.Millisecond

	// absence is how long a file may be gone or empty before that is meant: many
	// programs truncate and then write.
	absence = 700 * time.Millisecond

	// longest bounds the wait for a file that never rests.
	longest = 3 * time.Second

	// recheck is how often the file is looked at where no event came: some file
	// systems send none.
	recheck = 10 * time.Second

	// recheckBlind is the same where events cannot be had at all.
	recheckBlind = 500 * time.Millisecond
)

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

// watch is the state of one Watch. It is owned by its goroutine.
type watch struct {
	opts   WatchOptions
	log    *slog.Logger
	places []string // where the file is or may appear, best first

	notifier *fsnotify.Watcher // nil: events cannot be had
	events   <-chan fsnotify.Event
	errors   <-chan error
	route    route // what is watched now
	blind    bool  // some of it could not be watched

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
	notifier, err := fsnotify.NewWatcher()
	if err != nil {
		w.log.Warn("configuration is polled because it cannot be watched", "err", err)
		w.blind = true
		return w, nil
	}
	w.notifier, w.events, w.errors = notifier, notifier.Events, notifier.Errors
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
	defaults, _ := parse("", nil, w.opts.Known)
	w.filled = w.filled || !reflect.DeepEqual(w.opts.Current, defaults)
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
		case e, ok := <-w.events:
			if !ok {
				return errors.New("watch configuration: events ended")
			}
			if w.route.concerns(filepath.Clean(e.Name)) {
				w.follow()
				w.stir()
			}
		case err, ok := <-w.errors:
			if !ok {
				return errors.New("watch configuration: events ended")
			}
			w.log.Debug("configuration events were lost", "err", err)
			w.follow()
			w.stir()
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

func (w *watch) interval() time.Duration {
	if w.blind {
		return recheckBlind
	}
	return recheck
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
