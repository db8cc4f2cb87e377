package reload

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// isWritten reports whether a process has the file open for writing, as far as the system tells: it gives no
// lease for reading then.
func isWritten(path string) bool {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer file.Close() // and with it the lease
	_, err = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return errors.Is(err, unix.EAGAIN)
}
