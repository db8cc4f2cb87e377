package codex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// procfs is where the kernel tells of processes and locks.
type procfs struct{ agent.Processes }

// exists reports whether the kernel tells of processes at all.
func (p procfs) exists() bool {
	_, err := os.Stat(filepath.Join(string(p.Processes), "self"))
	return err == nil
}

// ours reports whether the process is the resume that the session is in. A
// server that it left behind serves people too: it is nobody's own.
func (p procfs) ours(pid int, s resume.Session) bool {
	return p.IsRun(pid, s) && !slices.Contains(p.Argv(pid), serverCommand)
}

// lockers returns the processes that hold a lock on the file, by what the
// kernel lists. The lock itself is not tried: Codex takes it without waiting, so
// a trial at the wrong moment would keep a session from being opened.
func (p procfs) lockers(path string) ([]int, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nobody has it open, or the version has no locks
	}
	if err != nil {
		return nil, fmt.Errorf("look at the session's lock: %w", err)
	}
	locks, err := os.ReadFile(filepath.Join(string(p.Processes), "locks"))
	if err != nil {
		return nil, fmt.Errorf("list locks: %w", err)
	}
	var pids []int
	for line := range strings.Lines(string(locks)) {
		pid, on, ok := parseLock(line)
		if !ok || on.inode != inodeOf(info) {
			continue
		}
		// File systems of several volumes name another device here than to
		// those who ask for a file's: then the open file tells.
		if on.device == deviceOf(info) || p.holds(pid, path, false) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// file names a file beyond its path.
type file struct{ device, inode string }

// parseLock reads a line of the list of locks, such as
//
//	1: FLOCK  ADVISORY  WRITE 15191 fe:00:131090 0 EOF
//
// One who waits for the lock has an arrow in its line, which is none of these.
func parseLock(line string) (pid int, on file, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 {
		return 0, file{}, false
	}
	pid, err := strconv.Atoi(fields[4])
	cut := strings.LastIndexByte(fields[5], ':')
	if err != nil || cut < 0 {
		return 0, file{}, false
	}
	return pid, file{fields[5][:cut], fields[5][cut+1:]}, true
}

// writer returns a process that has the session's file open to write into it
// and is not ours.
func (p procfs) writer(path string, s resume.Session) (int, bool, error) {
	pids, err := p.PIDs()
	if err != nil {
		return 0, false, err
	}
	for _, pid := range pids {
		if pid != os.Getpid() && p.holds(pid, path, true) && !p.ours(pid, s) {
			return pid, true, nil
		}
	}
	return 0, false, nil
}

// holds reports whether the process has the file open, or open to write where
// that is asked. Processes of other users are not looked into.
func (p procfs) holds(pid int, path string, toWrite bool) bool {
	dir := p.Path(pid, "fd")
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, fd := range fds {
		target, err := os.Readlink(filepath.Join(dir, fd.Name()))
		if err == nil && target == path && (!toWrite || p.writes(pid, fd.Name())) {
			return true
		}
	}
	return false
}

// writes reports whether a descriptor was opened to write. Where the kernel
// does not tell, it may have been.
func (p procfs) writes(pid int, fd string) bool {
	info, err := os.ReadFile(p.Path(pid, "fdinfo", fd))
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
