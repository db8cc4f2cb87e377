//go:build darwin || freebsd

package control

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peerUID returns the user at the other end of the socket.
func peerUID(conn *net.UnixConn) (uid int, err error) {
	err = withDescriptor(conn, func(fd int) error {
		cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			return fmt.Errorf("ask for the peer's credentials: %w", err)
		}
		uid = int(cred.Uid)
		return nil
	})
	return uid, err
}
