package runner

import (
	"time"

	"golang.org/x/sys/unix"
)

// BirthTime returns when a directory was made. It tells a directory from another of
// the same name, also over a restart of the machine, which its number does not.
// Not every file system knows it, and none is waited for.
func BirthTime(dir string) (time.Time, bool) {
	var info unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, dir, unix.AT_STATX_DONT_SYNC, unix.STATX_BTIME, &info) != nil || info.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}, false
	}
	return time.Unix(info.Btime.Sec, int64(info.Btime.Nsec)).UTC(), true
}
