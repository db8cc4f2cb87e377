package procfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// File is an open file of a process: a path without symbolic links, or a name such as
// socket:[4711].
type File struct {
	Name string
	fd   string
}

// Open returns the open files of a process, or an error if they cannot be known.
func (f FS) Open(pid int) ([]File, error) {
	if f.asks() {
		return openByLsof(pid)
	}
	return f.open(pid), nil
}

func (f FS) open(pid int) []File {
	dir := f.Path(pid, "fd")
	fds, _ := os.ReadDir(dir) // empty if it has ended or is another user's
	var files []File
	for _, fd := range fds {
		if name, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil {
			files = append(files, File{name, fd.Name()})
		}
	}
	return files
}

// Opens reports whether the process has the file of that name open.
func (f FS) Opens(pid int, name string) bool {
	return slices.ContainsFunc(f.open(pid), func(file File) bool { return file.Name == name })
}

// Writes reports whether the process has the file of that name open for writing. If the kernel
// does not show the mode, it counts as writing.
func (f FS) Writes(pid int, name string) bool {
	return slices.ContainsFunc(f.open(pid), func(file File) bool { return file.Name == name && f.writable(pid, file.fd) })
}

func (f FS) writable(pid int, fd string) bool {
	info, err := read(f.Path(pid, "fdinfo", fd))
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(info)) {
		value, found := strings.CutPrefix(line, "flags:")
		if !found {
			continue
		}
		flags, err := strconv.ParseInt(strings.TrimSpace(value), 8, 64)
		return err != nil || flags&int64(os.O_WRONLY|os.O_RDWR) != 0
	}
	return true
}

// Lockers returns the processes that hold a lock on the file, from the kernel's list. It does
// not try the lock itself: that could make a process fail that takes it at that moment without
// waiting.
func (f FS) Lockers(path string) ([]int, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no process has it open
	}
	if err != nil {
		return nil, fmt.Errorf("look at a lock: %w", err)
	}
	if f.asks() { // a lock file is open only in the process that holds it
		users, _, err := usersByLsof(context.Background(), path)
		return users, err
	}
	locks, err := read(filepath.Join(string(f), "locks"))
	if err != nil {
		return nil, fmt.Errorf("list locks: %w", err)
	}
	device, inode := identity(info)
	var pids []int
	for line := range strings.Lines(string(locks)) {
		pid, on, locked := parseLock(line)
		// File systems with several volumes have another device number in this list than in
		// stat: then the open files decide.
		if pid != 0 && locked == inode && (on == device || f.Opens(pid, path)) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// parseLock reads a line of the list of locks, such as
//
//	1: FLOCK  ADVISORY  WRITE 15191 fe:00:131090 0 EOF
//
// The line of a process that waits for the lock has an arrow, and is not parsed.
func parseLock(line string) (pid int, device, inode string) {
	fields := strings.Fields(line)
	if len(fields) < 6 {
		return 0, "", ""
	}
	pid, _ = strconv.Atoi(fields[4])
	cut := strings.LastIndexByte(fields[5], ':')
	return pid, fields[5][:max(0, cut)], fields[5][cut+1:]
}

// identity returns a file's device and inode in the format of the list of locks.
func identity(info fs.FileInfo) (device, inode string) {
	stat := info.Sys().(*syscall.Stat_t) // true on all supported systems
	dev := uint64(stat.Dev)
	return fmt.Sprintf("%02x:%02x", unix.Major(dev), unix.Minor(dev)), strconv.FormatUint(uint64(stat.Ino), 10)
}
