package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// It is looked whether the socket still has its name: a logout or a cleaner of temporary files may
// take it away, and nobody could reach the daemon any more.
const (
	lookEvery  = 10 * time.Second // where no event tells of that,
	lookRarely = time.Minute      // and where one does

	// settleTime is how long after an event it is looked: who takes away the directory as well must
	// not find a new socket in it.
	settleTime = 5 * time.Second
)

// ErrTaken says that another daemon answers on the socket.
var ErrTaken = errors.New("another daemon answers")

// socket is a listening socket and the name that it was given.
type socket struct {
	dir      string
	listener *net.UnixListener
	made     os.FileInfo
}

// openSocket makes the socket in dir.
func openSocket(dir string) (*socket, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make runtime directory: %w", err)
	}
	path, release, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := removeStale(path); err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on control socket: %w", err)
	}
	// Strangers who come before this are turned away by who they are.
	err = os.Chmod(path, 0o600)
	made, lookErr := os.Lstat(path)
	if err := errors.Join(err, lookErr); err != nil {
		return nil, errors.Join(fmt.Errorf("close control socket to others: %w", err), listener.Close())
	}
	return &socket{dir, listener, made}, nil
}

// removeStale removes what a dead daemon left behind.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at control socket: %w", err)
	case info.Mode().Type() != os.ModeSocket:
		return fmt.Errorf("%s is in the way and is not a socket: move it away", path)
	}
	// Another one may live with a state directory of its own.
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = conn.Close()
		return fmt.Errorf("%w on %s: stop it first, or set XDG_RUNTIME_DIR", ErrTaken, path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove stale control socket: %w", err)
	}
	return nil
}

// stands reports whether the name still leads to the socket.
func (d *socket) stands() bool {
	info, err := os.Lstat(filepath.Join(d.dir, SocketName))
	return err == nil && os.SameFile(info, d.made)
}

// keepSocket makes the socket anew whenever its name was taken away, until ctx is
// done.
func (s *Server) keepSocket(ctx context.Context, opened func(*socket)) {
	var name nameWatch
	defer name.close()
	pause := name.watch(s.socket)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	told := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-name.events():
			name.taken()
			timer.Reset(settleTime)
			continue
		case <-timer.C:
			timer.Reset(pause)
		}
		if s.socket.stands() {
			continue
		}
		made, err := openSocket(s.socket.dir)
		if err != nil {
			if told != err.Error() {
				s.log.Warn("the control socket was removed and cannot be made anew", "err", err)
			}
			told = err.Error()
			timer.Reset(lookEvery)
			continue
		}
		told = ""
		pause = name.watch(made)
		timer.Reset(pause)
		s.log.Info("the control socket was removed and is made anew")
		s.socket.listener.SetUnlinkOnClose(false) // its name is another's now
		s.socket = made
		opened(made)
	}
}

// longestPath is what the kernel takes as the path of a socket.
const longestPath = 100

// openFiles is where the kernel shows what this process has open.
var openFiles = "/proc/self/fd"

// PathError says that nobody can reach a socket by a path as long as that.
type PathError struct{ Path string }

func (e *PathError) Error() string {
	return fmt.Sprintf("%s is too long a path for a socket, and without /proc there is no other way to it: set XDG_RUNTIME_DIR to a shorter one", e.Path)
}

// socketPath returns a path of the socket in dir that the kernel takes. Where
// the real one is too long it leads through the open directory, and is good
// until release is called.
func socketPath(dir string) (path string, release func(), err error) {
	path = filepath.Join(dir, SocketName)
	if len(path) <= longestPath {
		return path, func() {}, nil
	}
	open, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	through := filepath.Join(openFiles, fmt.Sprint(open.Fd()))
	if _, err := os.Stat(through); err != nil { // else a daemon that runs there would be taken for none
		return "", nil, errors.Join(&PathError{path}, open.Close())
	}
	return filepath.Join(through, SocketName), func() { _ = open.Close() }, nil
}
