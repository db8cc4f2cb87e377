// Package peer finds the user and the process at the other end of a socket.
package peer

import (
	"fmt"
	"net"
)

// UID returns the user at the other end of a connection, from the kernel: after a dial, that is
// the listener.
func UID(conn *net.UnixConn) (int, error) { return ask(conn, userOf) }

// PID returns the process that made the connection, from the kernel; 0: not known, or it is in
// another pid namespace.
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
