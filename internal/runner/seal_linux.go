package runner

import "golang.org/x/sys/unix"

// sealDescriptors keeps what the daemon was itself started with, such as a
// socket from its service manager, out of the commands. What Go opens is kept
// out anyway. Kernels before 5.11 do not know the call.
func sealDescriptors() {
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}
