package peer

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// open returns a file for the process. Linux before 6.5 does not give one for a connection: then the process
// may have ended since, and another one have its number, if numbers are used up within that moment. Linux before 5.3
// has no such files.
func open(conn *net.UnixConn, pid int) (*os.File, error) {
	fd, err := ask(conn, func(fd int) (int, error) { return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD) })
	if errors.Is(err, unix.ENOPROTOOPT) {
		fd, err = unix.PidfdOpen(pid, 0)
	}
	switch {
	case errors.Is(err, unix.ENOSYS):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("hold process %d: %w", pid, err)
	}
	return os.NewFile(uintptr(fd), "process"), nil
}

// alive: a process that we may not send a signal to is another user's.
func alive(fd int) bool {
	err := unix.PidfdSendSignal(fd, 0, nil, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}
