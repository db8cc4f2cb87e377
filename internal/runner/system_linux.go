package runner

import (
	"time"

	"golang.org/x/sys/unix"
)

// BirthTime returns when a directory was created. It distinguishes a directory from a later one
// of the same name, also over a restart, which its inode does not. Not every file system records it,
// and the call waits for none.
func BirthTime(dir string) (time.Time, bool) {
	var info unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, dir, unix.AT_STATX_DONT_SYNC, unix.STATX_BTIME, &info) != nil || info.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}, false
	}
	return time.Unix(info.Btime.Sec, int64(info.Btime.Nsec)).UTC(), true
}

// sealDescriptors makes sure that commands do not inherit the descriptors that the daemon was
// started with, such as a socket of its service manager. Those that Go opens are never
// inherited. Kernels before 5.11 do not have this call.
func sealDescriptors() {
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}
