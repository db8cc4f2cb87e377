package control

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"resumed/internal/dirs"
	"resumed/internal/fsevents"
)

// How often to check that the socket file still exists: a logout or a cleaner of temporary files
// may remove it, and then no client can reach the daemon.
const (
	lookEvery  = 10 * time.Second // without file events,
	lookRarely = time.Minute      // and with them

	// settleTime is how long after an event to check: a program that also removes the
	// directory must not find a new socket in it.
	settleTime = 5 * time.Second
)

// ErrTaken says that another daemon answers on the socket.
var ErrTaken = errors.New("another daemon answers")

// socket is a listening socket and its file.
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
	// Other users who connect before this are refused by their user id.
	err = os.Chmod(path, 0o600)
	made, lookErr := os.Lstat(path)
	if err := errors.Join(err, lookErr); err != nil {
		return nil, errors.Join(fmt.Errorf("close control socket to others: %w", err), listener.Close())
	}
	return &socket{dir, listener, made}, nil
}

// removeStale removes the socket of a dead daemon.
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
	// A living daemon may have another state directory.
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = conn.Close()
		return fmt.Errorf("%w on %s: stop it first, or set XDG_RUNTIME_DIR", ErrTaken, path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove stale control socket: %w", err)
	}
	return nil
}

// inPlace reports whether the file is still that of the socket.
func (d *socket) inPlace() bool {
	info, err := os.Lstat(filepath.Join(d.dir, SocketName))
	return err == nil && os.SameFile(info, d.made)
}

// keepSocket makes the socket again whenever its file was removed, until ctx is done.
func (s *Server) keepSocket(ctx context.Context, opened func(*socket)) {
	listener, noEvents := fsevents.New()
	var events <-chan struct{} // nil: there are none
	if noEvents == nil {
		defer listener.Close()
		events = listener.Ready()
	}
	// watch returns how often to check the file in addition to its events. Only Linux has events for
	// a file that is not a directory, and other files in its directory may change all the time.
	watch := func() time.Duration {
		if noEvents != nil || runtime.GOOS != "linux" {
			return lookEvery
		}
		path := filepath.Join(s.socket.dir, SocketName)
		_ = listener.Remove(path) // it is that of the socket before
		if listener.Add(path) != nil {
			return lookEvery
		}
		return lookRarely
	}
	pause := watch()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	told := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-events:
			_, _ = listener.Take(math.MaxInt) // their content does not matter
			timer.Reset(settleTime)
			continue
		case <-timer.C:
			timer.Reset(pause)
		}
		if s.socket.inPlace() {
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
		s.log.Info("the control socket was removed and is made anew")
		s.socket.listener.SetUnlinkOnClose(false) // another socket has its name now
		s.socket = made
		pause = watch()
		timer.Reset(pause)
		opened(made)
	}
}

// longestPath is how long the path of a socket may be for every kernel.
const longestPath = 100

// openFiles is where the kernel shows the open files of this process.
var openFiles = "/proc/self/fd"

// socketPath returns a path of the socket in dir that the kernel accepts. If the real path is too
// long, it leads through the open directory and is valid until release is called.
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
	if _, err := os.Stat(through); err != nil { // without this check a running daemon would not be found
		_ = open.Close() // nothing was written
		return "", nil, fmt.Errorf("%s is too long a path for a socket, and without /proc there is no other way to it: set XDG_RUNTIME_DIR to a shorter one", path)
	}
	return filepath.Join(through, SocketName), func() { _ = open.Close() }, nil
}

// IsRunning reports whether a daemon listens on the socket in dir.
func IsRunning(dir string) bool {
	conn, err := Dial(context.Background(), dir)
	return err == nil && conn.Close() == nil // nothing was sent
}

// Dial connects to the socket in dir, if a daemon listens there.
func Dial(ctx context.Context, dir string) (net.Conn, error) {
	path, release, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	dialer := net.Dialer{Timeout: answerLimit}
	return dialer.DialContext(ctx, "unix", path)
}

// SocketDir returns the directory of the daemon's socket. If no daemon runs, it is that of a
// dry run, or the one where a daemon would listen.
func SocketDir(getenv func(string) string) string {
	dir, answers := daemonDir(getenv)
	own, err := dirs.State(getenv)
	if answers || err != nil {
		return dir
	}
	for _, dryRun := range dirs.DryRuns(own) {
		if IsRunning(dryRun) {
			return dryRun
		}
	}
	return dir
}

// DaemonDir is SocketDir without dry runs.
func DaemonDir(getenv func(string) string) string {
	dir, _ := daemonDir(getenv)
	return dir
}

func daemonDir(getenv func(string) string) (dir string, answers bool) {
	places := dirs.Sockets(getenv)
	if i := slices.IndexFunc(places, IsRunning); i >= 0 {
		return places[i], true
	}
	for _, place := range places { // a socket that does not answer is reported too
		if _, err := os.Stat(filepath.Join(place, SocketName)); err == nil {
			return place, false
		}
	}
	dir, err := dirs.Runtime(getenv)
	if err != nil {
		dir = os.DevNull // without a home directory there is no daemon
	}
	return dir, false
}
