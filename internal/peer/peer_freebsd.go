package peer

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// processOf reads the last field, which the library does not name: FreeBSD 13 and later set it.
func processOf(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	last := unsafe.Add(unsafe.Pointer(cred), unsafe.Sizeof(*cred)-unsafe.Sizeof(uintptr(0)))
	return int(*(*int32)(last)), nil
}
