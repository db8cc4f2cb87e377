package peer

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func userOf(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, fmt.Errorf("ask for the peer's credentials: %w", err)
	}
	return int(cred.Uid), nil
}
