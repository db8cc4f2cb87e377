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

// Library is what the system's own calls tell of processes, through a library. It is
// asked where there is no /proc, as on macOS.
const Library FS = "library"

// of returns a process of the library's.
func of(pid int) *process.Process { return &process.Process{Pid: int32(pid)} }

// told reports whether the library can be believed: it reads /proc itself where that is
// the only source, and then nobody has looked whose that is.
func (f FS) told() bool { return f == Library || runtime.GOOS != "linux" }

// pidsByLibrary returns all processes. A list in which we are not ourselves is none.
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

// argvByLibrary returns the arguments of one process; one of another user tells none.
func (f FS) argvByLibrary(pid int) []string {
	if !f.told() {
		return nil
	}
	argv, _ := of(pid).CmdlineSlice() // it has ended, or is another user's
	return argv
}

// environByLibrary returns the environment of a process. A system that keeps it for
// itself tells an empty one, which no process has that somebody started.
func (f FS) environByLibrary(pid int) ([]string, error) {
	var environ []string
	err := error(ErrUnseen)
	if f.told() {
		environ, err = environOf(pid)
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

// cwdByLibrary returns the directory that a process works in; empty where it has
// ended.
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

// statByLibrary returns what the system tells of a process. When it began is in
// milliseconds since 1970.
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

// userByLibrary returns whose process it is: who it acts as.
func userByLibrary(pid int) (int, error) {
	users, err := of(pid).Uids() // the real one and the one that counts, or that alone
	if err != nil || len(users) == 0 {
		return 0, fmt.Errorf("read whose process %d is: %w", pid, errors.Join(ErrUnseen, err))
	}
	return int(users[min(1, len(users)-1)]), nil
}

// exeByLibrary returns the file that a process runs; empty where it is not known, or
// has been replaced since.
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

// havingByLibrary returns who has a variable. Where not even our own environment is
// told, none is.
func (f FS) havingByLibrary(ctx context.Context, name string) (map[int]string, error) {
	pids, err := f.pidsByLibrary(ctx)
	if err != nil {
		return nil, err
	}
	if own, err := f.environByLibrary(os.Getpid()); err != nil && len(os.Environ()) > 0 || Variable(own, "PATH") == "" && os.Getenv("PATH") != "" {
		return nil, fmt.Errorf("read environments: %w", ErrUnseen)
	}
	found := make(map[int]string)
	for _, pid := range pids {
		environ, _ := f.environByLibrary(pid) // of one that has ended, or is another user's, nothing is known
		if value := Variable(environ, name); value != "" {
			found[pid] = value
		}
	}
	return found, nil
}

func ended(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
