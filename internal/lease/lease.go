// Package lease makes sure that only one process at a time takes care of a session: a daemon and
// an exec on the same machine, or two execs, must not both continue it. A lease is a locked
// file, so the kernel ends it when its holder dies.
package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/atomicfile"
	"resumed/internal/lock"
	"resumed/internal/regular"
)

// HeldError says that another process takes care of the session.
type HeldError struct {
	PID int // 0: the holder has not written it yet
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return "another resumed looks after this session"
	}
	return fmt.Sprintf("another resumed (pid %d) looks after this session", e.PID)
}

// Lease is the right of this process to take care of a session.
type Lease struct {
	id      string
	files   []*os.File
	release func() error
}

// Acquire takes the lease of an agent's session in all directories. The error is a *HeldError if
// another process has it, or this one already does. A directory that cannot be written to is
// skipped if there is another.
func Acquire(dirs []string, agent, id string) (*Lease, error) {
	l := &Lease{id: id}
	l.release = sync.OnceValue(l.end)
	var troubles []error
	for _, dir := range dirs {
		file, err := acquire(dir, name(agent, id))
		if _, held := errors.AsType[*HeldError](err); held {
			return nil, errors.Join(err, l.Release())
		}
		if err != nil {
			troubles = append(troubles, err)
			continue
		}
		l.files = append(l.files, file)
	}
	if len(l.files) == 0 {
		return nil, errors.Join(troubles...)
	}
	return l, nil
}

func acquire(dir, name string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of leases: %w", err)
	}
	path := filepath.Join(dir, name)
	for {
		file, err := lock.Take(path)
		if held, ok := errors.AsType[*lock.HeldError](err); ok {
			return nil, &HeldError{PID: held.PID}
		}
		if err != nil {
			return nil, fmt.Errorf("take lease: %w", err)
		}
		if current(file, path) {
			return file, nil
		}
		file.Close() // its holder removed it before it was locked here
	}
}

// HeldByOther reports whether another process takes care of an agent's session.
func HeldByOther(dirs []string, agent, id string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		pid := lock.Holder(filepath.Join(dir, name(agent, id)))
		return pid != 0 && pid != os.Getpid()
	})
}

// ID returns the session's id.
func (l *Lease) ID() string { return l.id }

// Release releases the lease. A second call does nothing.
func (l *Lease) Release() error {
	if l == nil {
		return nil
	}
	return l.release()
}

// end removes the files while they are still locked: a process that has already opened one
// finds that it no longer has that name. A file that another program removed is not removed
// again: another process may have a new lease of that name.
func (l *Lease) end() error {
	var failed []error
	for _, file := range l.files {
		if current(file, file.Name()) {
			failed = append(failed, os.Remove(file.Name()))
		}
		failed = append(failed, file.Close())
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("release lease: %w", err)
	}
	return nil
}

const suffix = ".lock"

// longestName is how long a file name may be on every common file system.
const longestName = 255

// name escapes characters that a file name must not contain. An extremely long id is cut; two of
// those may share a lease, which only makes one of them wait.
func name(agent, id string) string {
	escaped := url.PathEscape(agent) + "@" + strings.ReplaceAll(url.PathEscape(id), "@", "%40")
	return escaped[:min(len(escaped), longestName-len(suffix))] + suffix
}

// current reports whether path is still the locked file.
func current(file *os.File, path string) bool {
	locked, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(locked, named)
}

// Note is stored by a process that gave up on a session, so that the next process does not
// start all over again.
type Note struct {
	At        time.Time `json:"at"`
	Why       string    `json:"why"`
	Cancelled bool      `json:"cancelled,omitempty"` // a person ended the interruption
}

// GiveUp stores a note. The lease must still be released.
func (l *Lease) GiveUp(n Note) error {
	if l == nil {
		return nil
	}
	data, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("leave a note: %w", err)
	}
	for _, file := range l.files {
		if err := atomicfile.Write(notePath(file.Name()), data, 0o600); err != nil {
			return fmt.Errorf("leave a note: %w", err)
		}
	}
	return nil
}

// LastNote returns the newest note about an agent's session. One that cannot be read counts as
// none.
func LastNote(dirs []string, agent, id string) (last Note, found bool) {
	for _, dir := range dirs {
		if n := readNote(notePath(filepath.Join(dir, name(agent, id)))); n.At.After(last.At) {
			last, found = n, true
		}
	}
	return last, found
}

func readNote(path string) (n Note) {
	data, err := regular.Read(path)
	if err != nil || json.Unmarshal(data, &n) != nil {
		return Note{}
	}
	return n
}

const noteSuffix = ".note"

// notePath returns a path that is as long as that of the lease.
func notePath(lease string) string { return lease[:len(lease)-len(suffix)] + noteSuffix }

// Prune removes files in the directories that are older than a time: notes, and locks
// that a dead holder did not remove.
func Prune(dirs []string, before time.Time) error {
	var failed []error
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil || !info.ModTime().Before(before) {
				continue
			}
			path := filepath.Join(dir, entry.Name())
			switch {
			case strings.HasSuffix(path, noteSuffix) && readNote(path).At.Before(before): // its file may be older, as after the clock was set
				failed = append(failed, remove(path))
			case strings.HasSuffix(path, suffix):
				failed = append(failed, removeAbandoned(path))
			}
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("remove old leases: %w", err)
	}
	return nil
}

// removeAbandoned removes a lock without a holder while it is locked, as a holder does.
func removeAbandoned(path string) error {
	file, err := lock.Take(path)
	if err != nil {
		return nil // it is held, or it is tried again later
	}
	defer file.Close()
	if !current(file, path) {
		return nil
	}
	return remove(path)
}

// remove removes a file that another daemon may have just removed.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
