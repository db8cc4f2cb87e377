package procfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// Library reads processes through a library that uses system calls, where there is no /proc,
// as on macOS.
const Library FS = "library"

func of(pid int) *process.Process { return &process.Process{Pid: int32(pid)} }

// told reports whether the library is reliable. On Linux it reads /proc itself, without a check
// that this /proc shows our own processes.
func (f FS) told() bool { return f == Library || runtime.GOOS != "linux" }

// pidsByLibrary returns all processes. A list without this process is not valid.
func (f FS) pidsByLibrary(ctx context.Context) ([]int, error) {
	if !f.told() {
		return nil, fmt.Errorf("list processes: %w", ErrUnseen)
	}
	all, err := process.PidsWithContext(ctx)
	if err != nil || !slices.Contains(all, int32(os.Getpid())) {
		return nil, fmt.Errorf("list processes: %w", errors.Join(ErrUnseen, err))
	}
	pids := make([]int, len(all))
	for i, pid := range all {
		pids[i] = int(pid)
	}
	return pids, nil
}

func (f FS) argvByLibrary(pid int) []string {
	if !f.told() {
		return nil
	}
	argv, _ := of(pid).CmdlineSlice() // it has ended, or is another user's
	return argv
}

// environByLibrary returns the environment of a process. A system that hides it returns an
// empty one, and no process that was started normally has that.
func (f FS) environByLibrary(pid int) ([]string, error) {
	var environ []string
	err := error(ErrUnseen)
	if f.told() {
		environ, err = of(pid).Environ()
	}
	if err == nil && len(environ) == 0 {
		err = ErrUnseen
	}
	if ended(pid) {
		err = os.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("read the environment of process %d: %w", pid, err)
	}
	return environ, nil
}

// cwdByLibrary returns the working directory of a process; empty if it has ended.
func (f FS) cwdByLibrary(pid int) (string, error) {
	if f.told() {
		if cwd, err := of(pid).Cwd(); err == nil && cwd != "" {
			return cwd, nil
		}
	}
	if ended(pid) {
		return "", nil
	}
	return "", fmt.Errorf("read the directory of process %d: %w", pid, ErrUnseen)
}

// statByLibrary returns the Stat of a process. Its start time is in milliseconds since 1970.
func (f FS) statByLibrary(pid int) (Stat, error) {
	if !f.told() {
		return Stat{}, fmt.Errorf("read process %d: %w", pid, ErrUnseen)
	}
	s, err := statOf(pid)
	if err != nil && ended(pid) {
		err = os.ErrNotExist
	}
	if err != nil {
		return Stat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return s, nil
}

func userByLibrary(pid int) (int, error) {
	users, err := of(pid).Uids() // the real and the effective one, or only one
	if err != nil || len(users) == 0 {
		return 0, fmt.Errorf("read whose process %d is: %w", pid, errors.Join(ErrUnseen, err))
	}
	return int(users[min(1, len(users)-1)]), nil
}

// exeByLibrary returns the file; empty if it is not known or was replaced since the start.
func (f FS) exeByLibrary(pid int) string {
	if !f.told() {
		return ""
	}
	path, _ := of(pid).Exe() // it has ended, or is another user's
	info, err := os.Stat(path)
	s, statErr := f.statByLibrary(pid)
	if err != nil || statErr != nil || info.ModTime().After(time.UnixMilli(int64(s.Start))) {
		return ""
	}
	return path
}

func ended(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
