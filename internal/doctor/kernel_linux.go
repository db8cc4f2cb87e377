package doctor

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"resumed/internal/humanize"
)

// examineInotify compares the kernel's limits with the number of directories to watch.
func examineInotify(r *Report, directories int) {
	const (
		name = "inotify"
		dir  = "/proc/sys/fs/inotify/"
		fix  = "echo fs.inotify.%[1]s=%[2]d | sudo tee /etc/sysctl.d/60-resumed.conf && sudo sysctl fs.inotify.%[1]s=%[2]d"
	)
	limit := func(key string) int {
		text, _ := os.ReadFile(dir + key)
		n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return n // 0 if it cannot be read
	}
	watches, instances := limit("max_user_watches"), limit("max_user_instances")
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
	if err != nil {
		r.Fail(name, fmt.Sprintf("no instance is left of %d: %v", instances, err), fmt.Sprintf(fix, "max_user_instances", max(512, 2*instances)))
		return
	}
	_ = syscall.Close(fd)
	text := fmt.Sprintf("%s to watch, %d allowed for all your programs", humanize.Count(directories, "directory"), watches)
	switch {
	case watches == 0:
		r.Warn(name, "the limits of the kernel cannot be read", "")
	case directories > watches:
		r.Fail(name, text, fmt.Sprintf(fix, "max_user_watches", 4*directories))
	case directories > watches/2:
		r.Warn(name, text, fmt.Sprintf(fix, "max_user_watches", 4*directories))
	default:
		r.OK(name, text)
	}
}

// examineMounts compares the daemon's mounts with those of this shell: if they differ, every session
// looks sandboxed to the daemon.
func examineMounts(r *Report, daemon int) {
	ours, err := os.Readlink("/proc/self/ns/mnt")
	theirs, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", daemon))
	if err != nil || err2 != nil || ours == theirs {
		return // the daemon belongs to another user, or all is well
	}
	r.Warn("daemon's mounts", fmt.Sprintf("pid %d, or your shell, has its own mounts: sessions that you start here look sandboxed to the daemon, and are not continued", daemon),
		"run the daemon where you work: without Protect… or Private… in its unit, or inside your container")
}

// clockSynchronised reports whether the clock is synchronised, if the kernel knows.
func clockSynchronised() (synchronised, known bool) {
	const unsynchronised = 5 // TIME_ERROR
	var buf syscall.Timex
	clock, err := syscall.Adjtimex(&buf)
	if err != nil {
		return false, false
	}
	return clock != unsynchronised, true
}
