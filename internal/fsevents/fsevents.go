// Package fsevents hears what happens in directories. All who listen in this process share
// one instance of the kernel's events: a user may have 128 of them, and a daemon that takes one for
// each home of each agent leaves too few for others.
package fsevents

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// mostWaiting is how many events may wait for one who does not take them. Then they are
// given up, and he is told so.
const mostWaiting = 1 << 16

// Listener hears of what changes in the directories that it has added. New makes one. Its methods
// may be called from several goroutines at once.
type Listener struct {
	ready chan struct{} // of size 1: there is something to take

	// What follows is guarded by the mutex of shared.
	waiting []fsnotify.Event
	err     error // events may have been lost
	dirs    map[string]*source
}

// hub is what all listeners share.
type hub struct {
	mu        sync.Mutex // guards everything that follows, and what the listeners hold
	listeners int
	sources   []*source
}

var shared hub

// source is one instance of the kernel's events. It knows a directory by one name alone: one that
// is added by another, through a symbolic link, needs a second source.
type source struct {
	kernel *fsnotify.Watcher
	dirs   map[string]directory // by name
	names  map[identity]string  // of the same
}

// directory is one that somebody listens to.
type directory struct {
	identity
	listeners []*Listener // mostly one
}

// identity tells a directory from others, by whatever name.
type identity struct{ device, inode uint64 }

func identify(dir string) (identity, error) {
	var stat syscall.Stat_t
	if err := syscall.Stat(dir, &stat); err != nil {
		return identity{}, &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	return identity{uint64(stat.Dev), stat.Ino}, nil //nolint:unconvert // it is of another type elsewhere
}

// New returns a listener that hears nothing yet. The error says why there are no events.
func New() (*Listener, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if len(shared.sources) == 0 {
		if err := shared.open(); err != nil {
			return nil, err
		}
	}
	shared.listeners++
	return &Listener{ready: make(chan struct{}, 1), dirs: make(map[string]*source)}, nil
}

// open takes one more instance of the kernel's events.
func (h *hub) open() error {
	kernel, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	s := &source{kernel: kernel, dirs: make(map[string]directory), names: make(map[identity]string)}
	h.sources = append(h.sources, s)
	go h.pass(s)
	return nil
}

// Ready is sent to when there is something to take.
func (l *Listener) Ready() <-chan struct{} { return l.ready }

// Take returns what was heard, the oldest of it first, and so many events at most. An error says that
// events may have been lost: only a look at everything tells which.
func (l *Listener) Take(most int) (events []fsnotify.Event, err error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	events, err = l.waiting, l.err
	l.waiting, l.err = nil, nil
	if len(events) > most {
		events, l.waiting = events[:most:most], events[most:]
		l.wake()
	}
	return events, err
}

// Waiting returns how many events wait to be taken.
func (l *Listener) Waiting() int {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return len(l.waiting)
}

// Add listens to a directory from now on. One that is added already is added anew: another may
// have its name by now.
func (l *Listener) Add(dir string) error {
	dir = filepath.Clean(dir)
	id, err := identify(dir)
	if err != nil {
		return err
	}
	shared.mu.Lock()
	s, err := shared.sourceOf(dir, id)
	if err == nil {
		s.note(dir, id, l)
	}
	shared.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.kernel.Add(dir); err != nil { // not under the lock: it may be a disk that does not answer
		_ = l.Remove(dir)
		return err
	}
	return nil
}

// sourceOf returns the one that can tell of a directory by that name.
func (h *hub) sourceOf(dir string, id identity) (*source, error) {
	for _, s := range h.sources {
		if name, known := s.names[id]; name == dir || !known {
			return s, nil
		}
	}
	if err := h.open(); err != nil {
		return nil, err
	}
	return h.sources[len(h.sources)-1], nil
}

// note notes that somebody listens to a directory.
func (s *source) note(dir string, id identity, l *Listener) {
	if before := l.dirs[dir]; before != nil && before != s {
		before.forget(dir, l)
	}
	at, known := s.dirs[dir]
	if known && at.identity != id {
		delete(s.names, at.identity)
	}
	if !slices.Contains(at.listeners, l) {
		at.listeners = append(at.listeners, l)
	}
	at.identity = id
	s.dirs[dir], s.names[id] = at, dir
	l.dirs[dir] = s
}

// Added returns the directories that it listens to.
func (l *Listener) Added() []string {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return slices.Collect(maps.Keys(l.dirs))
}

// Remove listens to a directory no longer.
func (l *Listener) Remove(dir string) error {
	dir = filepath.Clean(dir)
	shared.mu.Lock()
	s := l.dirs[dir]
	last := s != nil && s.forget(dir, l)
	shared.mu.Unlock()
	if s == nil {
		return fsnotify.ErrNonExistentWatch
	}
	if last {
		return shared.release(s, dir)
	}
	return nil
}

// release has the kernel tell no longer of a directory, unless somebody has come meanwhile who wants
// to hear of it.
func (h *hub) release(s *source, dir string) error {
	err := s.kernel.Remove(dir)
	h.mu.Lock()
	_, again := s.dirs[dir]
	h.mu.Unlock()
	if !again {
		return err
	}
	err = s.kernel.Add(dir)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range s.dirs[dir].listeners {
		l.lose(fsnotify.ErrEventOverflow)
	}
	return err
}

// forget notes that somebody does not listen to a directory, and reports whether nobody does.
func (s *source) forget(dir string, l *Listener) (last bool) {
	delete(l.dirs, dir)
	at := s.dirs[dir]
	at.listeners = slices.DeleteFunc(at.listeners, func(other *Listener) bool { return other == l })
	if len(at.listeners) > 0 {
		s.dirs[dir] = at
		return false
	}
	delete(s.dirs, dir)
	delete(s.names, at.identity)
	return true
}

// Close ends the listening. It may be called once.
func (l *Listener) Close() error {
	if unused, last := shared.left(l); last {
		var errs []error
		for _, s := range unused {
			errs = append(errs, s.kernel.Close())
		}
		return errors.Join(errs...)
	}
	for _, dir := range l.Added() {
		_ = l.Remove(dir) // it may be gone
	}
	return nil
}

// left notes that somebody listens no longer. Where that was the last one, it returns what nobody
// needs any more.
func (h *hub) left(l *Listener) (unused []*source, last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.waiting = nil
	if h.listeners--; h.listeners > 0 {
		return nil, false
	}
	clear(l.dirs)
	unused, h.sources = h.sources, nil
	return unused, true
}

// pass hands on what the kernel tells, until the source is closed.
func (h *hub) pass(s *source) {
	for {
		select {
		case ev, open := <-s.kernel.Events:
			if !open {
				return
			}
			h.mu.Lock()
			s.tell(filepath.Dir(ev.Name), ev)
			s.tell(ev.Name, ev) // that the directory itself is gone
			h.mu.Unlock()
		case err, open := <-s.kernel.Errors:
			if !open {
				return
			}
			h.mu.Lock()
			for _, at := range s.dirs {
				for _, l := range at.listeners {
					l.lose(err)
				}
			}
			h.mu.Unlock()
		}
	}
}

// tell tells those who listen to a directory.
func (s *source) tell(dir string, ev fsnotify.Event) {
	for _, l := range s.dirs[dir].listeners {
		if len(l.waiting) >= mostWaiting {
			l.waiting = nil
			l.lose(fsnotify.ErrEventOverflow)
			continue
		}
		l.waiting = append(l.waiting, ev)
		l.wake()
	}
}

func (l *Listener) lose(err error) {
	l.err = err
	l.wake()
}

// wake never waits.
func (l *Listener) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}
