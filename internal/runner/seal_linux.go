package runner

import "golang.org/x/sys/unix"

// sealDescriptors makes sure that commands do not inherit the descriptors that the daemon was
// started with, such as a socket of its service manager. Those that Go opens are never
// inherited. Kernels before 5.11 do not have this call.
func sealDescriptors() {
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}
