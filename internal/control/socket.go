package control

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// longestPath is what the kernel takes as the path of a socket.
const longestPath = 100

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
	return fmt.Sprintf("/proc/self/fd/%d/%s", open.Fd(), SocketName), func() { _ = open.Close() }, nil
}

// withDescriptor asks the kernel something about a connection.
func withDescriptor(conn *net.UnixConn, ask func(fd int) error) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("reach socket: %w", err)
	}
	var answer error
	if err := raw.Control(func(fd uintptr) { answer = ask(int(fd)) }); err != nil {
		return fmt.Errorf("reach socket: %w", err)
	}
	return answer
}
