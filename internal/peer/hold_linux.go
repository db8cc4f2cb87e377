package peer

import (
	"net"

	"golang.org/x/sys/unix"
)

// hold asks for the process of the connection itself, which Linux 6.5 and later tell; before that, for
// the one that has the number now.
func hold(conn *net.UnixConn, pid int) *handle {
	fd, err := ask(conn, func(fd int) (int, error) { return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD) })
	if err != nil {
		fd, err = unix.PidfdOpen(pid, 0)
	}
	if err != nil {
		return nil // before Linux 5.3
	}
	unix.CloseOnExec(fd)
	return &handle{fd: fd}
}

func (h *handle) alive() bool {
	ready := []unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(ready, 0)
	return err == nil && n == 0 // readable: it has ended
}

func (h *handle) release() { _ = unix.Close(h.fd) }
