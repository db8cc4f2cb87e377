// Package peer says which user is at the other end of a socket.
package peer

import (
	"fmt"
	"net"
)

// UID returns the user at the other end of a connection, as the kernel noted it: of one
// that was dialled, who listens there.
func UID(conn *net.UnixConn) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("reach socket: %w", err)
	}
	var answer error
	if err := raw.Control(func(fd uintptr) { uid, answer = userOf(int(fd)) }); err != nil {
		return 0, fmt.Errorf("reach socket: %w", err)
	}
	return uid, answer
}
