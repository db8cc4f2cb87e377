package peer

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Held is the process at the other end of a connection. Linux tells it from a later process with its number.
type Held struct {
	PID  int
	file *os.File // nil: the kernel has no such files
}

// Hold returns the process that made the connection; after a dial, it is the one that listens. It fails if that
// process has ended, or cannot be seen from here.
func Hold(conn *net.UnixConn) (*Held, error) {
	pid, err := ask(conn, processOf)
	if err != nil {
		return nil, err
	}
	if pid <= 0 {
		return nil, syscall.ESRCH
	}
	h := &Held{PID: pid}
	if h.file, err = open(conn, pid); err != nil {
		return nil, err
	}
	return h, nil
}

// Close ends that. Nil is allowed.
func (h *Held) Close() {
	if h != nil && h.file != nil {
		_ = h.file.Close()
	}
}

// Runs reports whether the process has not ended. Without a file it may be a later one with its number.
func (h *Held) Runs() bool {
	if h.file == nil {
		err := unix.Kill(h.PID, 0)
		return err == nil || errors.Is(err, unix.EPERM)
	}
	return alive(int(h.file.Fd()))
}

// Is reports whether both are the same process, and that runs.
func (h *Held) Is(other *Held) bool {
	return h != nil && other != nil && h.PID == other.PID && h.Runs() && other.Runs()
}
