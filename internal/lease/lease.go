// Package lease lets one process at a time look after a session: a daemon and
// an exec on the same machine, or two execs, must not continue it both. A lease
// is a locked file, so the kernel ends it when its holder dies.
package lease

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"resumed/internal/lock"
)

// Dir returns where the leases of a machine's user are: in a place that goes
// away with the login where there is one, else beside the state directory, so
// that daemons with state of their own share it.
func Dir(getenv func(string) string, stateDir string) string {
	base := getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(base) { // the XDG rules say that a relative path is to be passed over
		base = filepath.Dir(stateDir)
	}
	return filepath.Join(base, "resumed", "leases")
}

// HeldError says that another process looks after the session.
type HeldError struct {
	PID int // 0: the holder has not said yet
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return "another resumed looks after this session"
	}
	return fmt.Sprintf("another resumed (pid %d) looks after this session", e.PID)
}

// Lease is a session that this process looks after.
type Lease struct {
	id      string
	file    *os.File
	release func() error
}

// Acquire takes the lease of an agent's session. The error is a *HeldError
// where another process has it, or this one already does.
func Acquire(dir, agent, id string) (*Lease, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of leases: %w", err)
	}
	path := filepath.Join(dir, name(agent, id))
	for {
		file, err := lock.Take(path)
		if held, ok := errors.AsType[*lock.HeldError](err); ok {
			return nil, &HeldError{PID: held.PID}
		}
		if err != nil {
			return nil, fmt.Errorf("take lease: %w", err)
		}
		if !current(file, path) {
			file.Close() // its holder removed it between our opening and our locking
			continue
		}
		l := &Lease{id: id, file: file}
		l.release = sync.OnceValue(l.end)
		return l, nil
	}
}

// Elsewhere reports whether another process looks after an agent's session.
func Elsewhere(dir, agent, id string) bool {
	pid := lock.Holder(filepath.Join(dir, name(agent, id)))
	return pid != 0 && pid != os.Getpid()
}

// ID returns the session's id.
func (l *Lease) ID() string { return l.id }

// Release gives the lease back. A second call does nothing.
func (l *Lease) Release() error {
	if l == nil {
		return nil
	}
	return l.release()
}

// end removes the file while it is still locked: whoever has opened it by then
// finds that it is not the one of that name any more.
func (l *Lease) end() error {
	if err := errors.Join(os.Remove(l.file.Name()), l.file.Close()); err != nil {
		return fmt.Errorf("release lease: %w", err)
	}
	return nil
}

// suffix ends the name of every lease.
const suffix = ".lock"

// longestName is what a file name may be long on every common file system.
const longestName = 255

// name escapes what a file's name may not hold. An id of unthinkable length is
// cut; two of those may share a lease, which only makes one of them wait.
func name(agent, id string) string {
	escaped := url.PathEscape(agent) + "@" + strings.ReplaceAll(url.PathEscape(id), "@", "%40")
	return escaped[:min(len(escaped), longestName-len(suffix))] + suffix
}

// current reports whether path still names the file that was locked.
func current(file *os.File, path string) bool {
	locked, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(locked, named)
}
