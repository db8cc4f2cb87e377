// Package procfs reads the arguments, environments, directories, open files and locks of
// processes: in /proc, or with system calls and lsof where there is none.
package procfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// FS is the directory where the kernel shows processes. Where there is none, the Library and
// lsof are used; what they do not know either is ErrUnseen. Little is known about processes of
// other users.
type FS string

// Proc is the usual directory. Only Linux has it.
const Proc FS = "/proc"

// PIDs returns all visible processes.
func (f FS) PIDs() ([]int, error) {
	if f.asks() {
		return f.pidsByLibrary(context.Background())
	}
	if !f.HasProc() {
		return nil, fmt.Errorf("list processes: %w", ErrUnseen)
	}
	dir, err := os.Open(string(f))
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make([]int, 0, len(names))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue // not a process
		}
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	slices.Sort(all)
	return all, nil
}

// Path returns the path of a file about a process.
func (f FS) Path(pid int, name ...string) string {
	return filepath.Join(append([]string{string(f), strconv.Itoa(pid)}, name...)...)
}

// Argv returns the arguments that a process was started with, also empty ones. It is nil for a
// process that has ended or is another user's. A process that wrote a title over its arguments
// has only the title.
func (f FS) Argv(pid int) []string {
	if f.asks() {
		return f.argvByLibrary(pid)
	}
	cmdline, err := read(f.Path(pid, "cmdline"))
	if err != nil || len(cmdline) == 0 {
		return nil
	}
	argv := strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00")
	if title := strings.TrimRight(string(cmdline), "\x00"); title == argv[0] {
		return argv[:1]
	}
	return argv
}

// Environ returns the environment that a process was started with, as
// KEY=value.
func (f FS) Environ(pid int) ([]string, error) {
	if f.asks() {
		return f.environByLibrary(pid)
	}
	environ, err := read(f.Path(pid, "environ"))
	if err != nil {
		return nil, err
	}
	return strings.Split(string(environ), "\x00"), nil
}

// Variable returns a variable of a process's environment; empty: unset or not known.
func (f FS) Variable(pid int, name string) string {
	environ, _ := f.Environ(pid)
	return Variable(environ, name)
}

// Variable returns a variable of an environment; empty: unset.
func Variable(environ []string, name string) string {
	for _, pair := range environ {
		if value, found := strings.CutPrefix(pair, name+"="); found {
			return value
		}
	}
	return ""
}

// Cwd returns the working directory of a process; empty: not known.
func (f FS) Cwd(pid int) string {
	cwd, _ := f.Where(pid)
	return cwd
}

// Executable returns the file that a process runs; empty: not known.
func (f FS) Executable(pid int) string {
	if f.asks() {
		return f.exeByLibrary(pid)
	}
	exe, _ := os.Readlink(f.Path(pid, "exe"))
	return strings.TrimSuffix(exe, " (deleted)")
}

// Own reports whether a process belongs to our own user.
func (f FS) Own(pid int) bool {
	if f.asks() {
		user, err := userByLibrary(pid)
		return err == nil && user == os.Getuid()
	}
	info, err := os.Stat(f.Path(pid))
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

func device(path string) (info syscall.Stat_t, err error) {
	if err := syscall.Stat(path, &info); err != nil {
		return info, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return info, nil
}

// Stat is the kernel's record of a process, in one line.
type Stat struct {
	PID        int
	State      byte
	Parent     int
	Group      int
	Session    int
	TTY        uint64 // the device number of its terminal; 0: none
	Foreground int    // the process group that gets the keys of its terminal
	Start      uint64 // in the system's own unit: it distinguishes a process from a later one of the same pid
	CPU        uint64 // the time that it and its children that have ended have used, in ticks; 0: not known
}

// Living reports whether the process can still run. A zombie cannot.
func (s Stat) Living() bool { return s.State != 'Z' && s.State != 'X' && s.State != 'x' }

// Stat reads the line. The program's name in it may contain spaces and parentheses, so the
// other fields begin after the last parenthesis.
func (f FS) Stat(pid int) (Stat, error) {
	if f.asks() {
		return f.statByLibrary(pid)
	}
	text, err := read(f.Path(pid, "stat"))
	if err != nil {
		return Stat{}, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return Stat{}, fmt.Errorf("read %s: too short", f.Path(pid, "stat"))
	}
	s := Stat{PID: pid, State: fields[0][0]}
	var errs [6]error
	s.Parent, errs[0] = strconv.Atoi(fields[1])
	s.Group, errs[1] = strconv.Atoi(fields[2])
	s.Session, errs[2] = strconv.Atoi(fields[3])
	s.TTY, errs[3] = strconv.ParseUint(fields[4], 10, 32)
	s.Foreground, errs[4] = strconv.Atoi(fields[5])
	s.Start, errs[5] = strconv.ParseUint(fields[19], 10, 64)
	for _, field := range fields[11:15] {
		ticks, _ := strconv.ParseUint(field, 10, 64) // the kernel writes nothing else
		s.CPU += ticks
	}
	if err := errors.Join(errs[:]...); err != nil {
		return Stat{}, fmt.Errorf("read %s: %w", f.Path(pid, "stat"), err)
	}
	return s, nil
}

// Stats returns the living processes. There are none if they cannot be read.
func (f FS) Stats() iter.Seq[Stat] {
	return func(yield func(Stat) bool) {
		pids, _ := f.PIDs()
		for _, pid := range pids {
			if s, err := f.Stat(pid); err == nil && s.Living() && !yield(s) {
				return
			}
		}
	}
}

// tick is the unit of start times on Linux, on all architectures that Go supports.
const tick = time.Second / 100

// Age returns how long ago a living process started, or false if that is not known.
func (f FS) Age(pid int) (time.Duration, bool) {
	s, err := f.Stat(pid)
	if err != nil || !s.Living() {
		return 0, false
	}
	if f.asks() {
		return time.Since(time.UnixMilli(int64(s.Start))), true
	}
	up, known := f.uptime()
	return up - time.Duration(s.Start)*tick, known
}

// pages are buffers for reading files of the kernel: most files fit into one.
var pages = sync.Pool{New: func() any { return new([4096]byte) }}

// read returns the content of a file of the kernel. Such a file never blocks, so it does not need
// the poller that os.ReadFile uses: that takes eleven system calls instead of four, and there
// are hundreds of processes to read.
func read(path string) ([]byte, error) {
	fd, err := patiently(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }() // nothing was written
	page := pages.Get().(*[4096]byte)
	defer pages.Put(page)
	var text []byte
	for {
		n, err := patiently(func() (int, error) { return syscall.Read(fd, page[:]) })
		switch {
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		case n <= 0:
			return text, nil
		}
		text = append(text, page[:n]...)
	}
}

func patiently(ask func() (int, error)) (n int, err error) {
	for n, err = ask(); errors.Is(err, syscall.EINTR); n, err = ask() {
	}
	return n, err
}
