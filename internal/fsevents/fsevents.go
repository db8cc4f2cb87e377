// Package fsevents reports changes in directories. All listeners of this process share one
// inotify instance: a user may have 128 of them, and a daemon that takes one for each home of each
// agent leaves too few for other programs.
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

// mostWaiting is how many events may wait for a listener. If there are more, they are dropped and
// Take returns an error.
const mostWaiting = 1 << 16

// Listener receives the events of the directories that were added to it. Its methods may be called
// from several goroutines at once.
type Listener struct {
	ready chan struct{} // of size 1: Take has something to return

	// What follows is guarded by the mutex of shared.
	waiting []fsnotify.Event
	err     error // events may have been lost
	dirs    map[string]*source
}

// hub is what all listeners share.
type hub struct {
	mu        sync.Mutex // guards what follows, and the fields of listeners
	listeners int
	sources   []*source
}

var shared hub

// source is one inotify instance. It has one name for each directory: a directory that is added
// again through a symbolic link needs a second source.
type source struct {
	kernel *fsnotify.Watcher
	dirs   map[string]directory // by name
	names  map[identity]string  // the names of dirs
}

// directory is a directory with listeners.
type directory struct {
	identity
	listeners []*Listener // mostly one
}

// identity identifies a directory independent of its name.
type identity struct{ device, inode uint64 }

func identify(dir string) (identity, error) {
	var stat syscall.Stat_t
	if err := syscall.Stat(dir, &stat); err != nil {
		return identity{}, &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	return identity{uint64(stat.Dev), stat.Ino}, nil //nolint:unconvert // it is of another type elsewhere
}

// New returns a listener without directories.
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

// open starts one more source.
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

// Ready is sent to when Take has something to return.
func (l *Listener) Ready() <-chan struct{} { return l.ready }

// Take returns the next events, at most so many, the oldest first. An error says that events may
// have been lost: then the caller has to look at everything.
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

// Add starts listening to a directory. Adding it again is useful if the name may belong to another
// directory now.
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
	if err := s.kernel.Add(dir); err != nil { // without the lock: the disk may not answer
		_ = l.Remove(dir)
		return err
	}
	return nil
}

// sourceOf returns a source that can watch a directory under that name.
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

// note registers a listener of a directory.
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

// Added returns the directories that were added.
func (l *Listener) Added() []string {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return slices.Collect(maps.Keys(l.dirs))
}

// Remove stops listening to a directory.
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

// release ends the kernel's watch of a directory, unless a listener was added meanwhile.
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

// forget removes a listener of a directory, and reports whether it was the last one.
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

// Close removes all directories. It may be called once.
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

// left removes a listener. If it was the last one, it returns the sources to be closed.
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

// pass distributes the events of a source until it is closed.
func (h *hub) pass(s *source) {
	for {
		select {
		case ev, open := <-s.kernel.Events:
			if !open {
				return
			}
			h.mu.Lock()
			s.tell(filepath.Dir(ev.Name), ev)
			s.tell(ev.Name, ev) // the directory itself is gone
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

// tell gives an event to the listeners of a directory.
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

// wake does not block.
func (l *Listener) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}
