// Package fsevents reports changes in directories. All listeners of this process share one
// inotify instance: a user may have 128 of them, and a daemon that takes one for each home of each
// agent leaves too few for other programs.
package fsevents

import (
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// mostWaiting is how many events may wait for a listener. If there are more, they are lost.
const mostWaiting = 1 << 16

// Listener receives the events of the directories that were added to it. Its methods may be called
// from several goroutines at once.
type Listener struct {
	ready chan struct{} // of size 1: Take has something to return

	// What follows is guarded by the mutex of shared.
	waiting []fsnotify.Event
	err     error             // events may have been lost
	dirs    map[string]string // the names that were added, and the same without symbolic links
}

type hub struct {
	mu        sync.Mutex // guards what follows, and the fields of listeners
	listeners int
	kernel    *fsnotify.Watcher // nil: there is no listener
	users     map[string][]user // by directory, without symbolic links: the kernel has one name for each
}

var shared hub

// user is a listener of a directory, with the name by which the directory was added.
type user struct {
	*Listener
	name string
}

// New returns a listener without directories.
func New() (*Listener, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.kernel == nil {
		kernel, err := fsnotify.NewWatcher()
		if err != nil {
			return nil, err
		}
		shared.kernel, shared.users = kernel, make(map[string][]user)
		go shared.pass(kernel)
	}
	shared.listeners++
	return &Listener{ready: make(chan struct{}, 1), dirs: make(map[string]string)}, nil
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

// Add starts listening to a directory. Adding it again is useful if the name may belong to another
// directory now.
func (l *Listener) Add(dir string) error {
	dir = filepath.Clean(dir)
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	shared.mu.Lock()
	before := l.dirs[dir]
	unused := before != "" && before != target && shared.forget(l, dir)
	if l.dirs[dir] == "" {
		l.dirs[dir] = target
		shared.users[target] = append(shared.users[target], user{l, dir})
	}
	kernel := shared.kernel
	shared.mu.Unlock()
	if unused {
		_ = shared.release(before) // it may be gone
	}
	if err := kernel.Add(target); err != nil { // without the lock: the disk may not answer
		_ = l.Remove(dir)
		return err
	}
	return nil
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
	target := l.dirs[dir]
	last := target != "" && shared.forget(l, dir)
	shared.mu.Unlock()
	if target == "" {
		return fsnotify.ErrNonExistentWatch
	}
	if last {
		return shared.release(target)
	}
	return nil
}

// forget removes a listener of a directory, and reports whether it was the last one.
func (h *hub) forget(l *Listener, dir string) (last bool) {
	target := l.dirs[dir]
	delete(l.dirs, dir)
	h.users[target] = slices.DeleteFunc(h.users[target], func(u user) bool { return u == user{l, dir} })
	if len(h.users[target]) > 0 {
		return false
	}
	delete(h.users, target)
	return true
}

// release ends the kernel's watch of a directory, unless a listener was added meanwhile.
func (h *hub) release(dir string) error {
	h.mu.Lock()
	kernel := h.kernel // its caller is a listener, so there is one
	h.mu.Unlock()
	err := kernel.Remove(dir)
	h.mu.Lock()
	_, again := h.users[dir]
	h.mu.Unlock()
	if !again {
		return err
	}
	err = kernel.Add(dir)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, u := range h.users[dir] {
		u.lose(fsnotify.ErrEventOverflow)
	}
	return err
}

// Close removes all directories. It may be called once.
func (l *Listener) Close() error {
	for _, dir := range l.Added() {
		_ = l.Remove(dir) // it may be gone
	}
	shared.mu.Lock()
	l.waiting = nil
	kernel := shared.kernel
	shared.listeners--
	last := shared.listeners == 0
	if last {
		shared.kernel = nil
	}
	shared.mu.Unlock()
	if last {
		return kernel.Close()
	}
	return nil
}

func (h *hub) pass(kernel *fsnotify.Watcher) {
	for {
		select {
		case ev, open := <-kernel.Events:
			if !open {
				return
			}
			h.mu.Lock()
			h.tell(filepath.Dir(ev.Name), filepath.Base(ev.Name), ev)
			h.tell(ev.Name, "", ev) // the directory itself is gone
			h.mu.Unlock()
		case err, open := <-kernel.Errors:
			if !open {
				return
			}
			h.mu.Lock()
			for _, users := range h.users {
				for _, u := range users {
					u.lose(err)
				}
			}
			h.mu.Unlock()
		}
	}
}

// tell gives an event to the listeners of a directory, each with the name that it has for the file.
func (h *hub) tell(dir, file string, ev fsnotify.Event) {
	for _, u := range h.users[dir] {
		if len(u.waiting) >= mostWaiting {
			u.waiting = nil
			u.lose(fsnotify.ErrEventOverflow)
			continue
		}
		ev.Name = filepath.Join(u.name, file)
		u.waiting = append(u.waiting, ev)
		u.wake()
	}
}

func (l *Listener) lose(err error) {
	l.err = err
	l.wake()
}

func (l *Listener) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}
