package procfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

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
	dir, _ := os.Open(f.Path(pid, "fd")) // nil, and so empty, if it has ended or is another user's
	defer dir.Close()
	fds, _ := dir.Readdirnames(-1)
	files := make([]File, 0, len(fds))
	var name [4096]byte // the longest path
	for _, fd := range fds {
		// Relative to the directory: that is one name to resolve instead of four, thousands of times.
		if n, err := unix.Readlinkat(int(dir.Fd()), fd, name[:]); err == nil {
			files = append(files, File{string(name[:n]), fd})
		}
	}
	return files
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
	is := func(file File) bool { return file.Name == path }
	var pids []int
	for line := range strings.Lines(string(locks)) {
		pid, on, locked := parseLock(line)
		// File systems with several volumes have another device number in this list than in
		// stat: then the open files decide.
		if pid != 0 && locked == inode && (on == device || slices.ContainsFunc(f.open(pid), is)) {
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

func identity(info fs.FileInfo) (device, inode string) {
	stat := info.Sys().(*syscall.Stat_t) // true on all supported systems
	dev := uint64(stat.Dev)
	return fmt.Sprintf("%02x:%02x", unix.Major(dev), unix.Minor(dev)), strconv.FormatUint(uint64(stat.Ino), 10)
}

// ErrUnseen says that it cannot be known which processes there are, or what one of them does.
// It does not mean that there is none.
var ErrUnseen = errors.New("processes cannot be seen here: give it a /proc that shows them, or lsof where there is no such thing")

const askPatience = 10 * time.Second

// ask runs a program. lsof fails if it finds nothing, so the caller has to check the output.
func ask(ctx context.Context, name string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, _ := cmd.Output()
	return string(out)
}

// WritersByLsof returns the processes except this one that have a file open for writing, or an error
// if they cannot be known. It is for systems without /proc.
func (f FS) WritersByLsof(ctx context.Context, path string) ([]int, error) {
	if !f.asks() {
		return nil, fmt.Errorf("look who has %s open: %w", path, ErrUnseen)
	}
	_, writers, err := usersByLsof(ctx, path)
	return slices.DeleteFunc(writers, func(pid int) bool { return pid == os.Getpid() }), err
}

// usersByLsof returns the processes that have a file open, and those of them that may write to
// it. Our own pid is in the query to check that lsof works at all.
func usersByLsof(ctx context.Context, path string) (users, writers []int, err error) {
	out := ask(ctx, "lsof", "-w", "-Fpan", "-p", strconv.Itoa(os.Getpid()), "--", path)
	seen, pid, access := false, 0, ""
	for line := range strings.Lines(out) {
		value := strings.TrimSuffix(line[1:], "\n")
		switch line[0] {
		case 'p':
			pid, _ = strconv.Atoi(value) // lsof always prints a number
			seen = seen || pid == os.Getpid()
		case 'a':
			access = value
		case 'n':
			if value != path {
				continue
			}
			users = append(users, pid)
			if access != "r" {
				writers = append(writers, pid)
			}
		}
	}
	if !seen {
		return nil, nil, fmt.Errorf("look who has %s open: %w", path, ErrUnseen)
	}
	return users, writers, nil
}

func openByLsof(pid int) ([]File, error) {
	out := ask(context.Background(), "lsof", "-w", "-Ffn", "-p", strconv.Itoa(pid))
	var files []File
	for line := range strings.Lines(out) {
		if name, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "n/"); found {
			files = append(files, File{Name: "/" + name})
		}
	}
	if len(files) == 0 && !ended(pid) { // each process has at least its program and directory open
		return nil, fmt.Errorf("look what process %d has open: %w", pid, ErrUnseen)
	}
	return files, nil
}
