// Package peer says which user and which process is at the other end of a socket.
package peer

import (
	"fmt"
	"net"
)

// UID returns the user at the other end of a connection, as the kernel noted it: of one
// that was dialled, who listens there.
func UID(conn *net.UnixConn) (int, error) { return ask(conn, userOf) }

// PID returns the process that made the connection, as the kernel noted it; 0: the kernel does not
// tell, or it lives where its number means nothing here.
func PID(conn *net.UnixConn) (int, error) { return ask(conn, processOf) }

func ask(conn *net.UnixConn, question func(fd int) (int, error)) (number int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("reach socket: %w", err)
	}
	var answer error
	if err := raw.Control(func(fd uintptr) { number, answer = question(int(fd)) }); err != nil {
		return 0, fmt.Errorf("reach socket: %w", err)
	}
	if answer != nil {
		return 0, fmt.Errorf("ask for the peer's credentials: %w", answer)
	}
	return number, nil
}
