package procfs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
)

// HasProc reports whether the kernel shows processes here: at least this one, under its own pid. An
// empty directory does not, nor one of another pid namespace.
func (f FS) HasProc() bool {
	if f == Library {
		return false
	}
	if f != Proc { // made by a test, without this process
		_, err := os.Stat(string(f))
		return err == nil
	}
	self, err := os.Readlink(filepath.Join(string(f), "self"))
	return err == nil && self == strconv.Itoa(os.Getpid())
}

// asks reports whether the library and lsof are used instead of the directory.
func (f FS) asks() bool {
	if f != Proc || procSeen.Load() {
		return f == Library
	}
	seen := f.HasProc()
	procSeen.Store(seen)
	return !seen
}

// procSeen caches that Proc was seen once, so that each read of a process need not check it.
var procSeen atomic.Bool

// Readable reports whether processes can be read here at all: at least this one.
func (f FS) Readable() bool {
	if !f.asks() {
		return f.HasProc()
	}
	_, err := f.statByLibrary(os.Getpid())
	return err == nil
}

// Listed is a process with the arguments that it was started with.
type Listed struct {
	PID  int
	Argv []string
}

// List returns the processes with readable arguments, or an error if they cannot be known.
func (f FS) List(ctx context.Context) ([]Listed, error) {
	pids, err := f.PIDs()
	if err != nil {
		return nil, err
	}
	var all []Listed
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if argv := f.Argv(pid); len(argv) > 0 {
			all = append(all, Listed{pid, argv})
		}
	}
	return all, nil
}

// Where returns the working directory of a process, or an error if it cannot be known. It is
// empty if the process has ended or is another user's.
func (f FS) Where(pid int) (string, error) {
	if f.asks() {
		return f.cwdByLibrary(pid)
	}
	cwd, _ := os.Readlink(f.Path(pid, "cwd"))
	return cwd, nil
}

// Having returns the processes that have a variable in their environment, with its value, or
// an error if they cannot be known.
func (f FS) Having(ctx context.Context, name string) (map[int]string, error) {
	pids, err := f.PIDs()
	if err != nil {
		return nil, err
	}
	own, err := f.Environ(os.Getpid())
	if hidden := err != nil && len(os.Environ()) > 0 || Variable(own, "PATH") == "" && os.Getenv("PATH") != ""; f.asks() && hidden {
		return nil, fmt.Errorf("read environments: %w", ErrUnseen) // not even ours can be read
	}
	found := make(map[int]string)
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if value := f.Variable(pid, name); value != "" {
			found[pid] = value
		}
	}
	return found, nil
}

var shells = []string{"sh", "dash", "bash", "zsh", "fish", "ksh", "busybox"}

// maxShells limits how many shells are between an agent and a hook: the one that the agent uses for hooks,
// and the one in the hook's command.
const maxShells = 3

// BehindShells returns the process itself, or the one that started it through shells.
func (f FS) BehindShells(pid int) int {
	for range maxShells {
		stat, err := f.Stat(pid)
		if err != nil || stat.Parent <= 1 || !slices.Contains(shells, filepath.Base(f.Executable(pid))) {
			break
		}
		pid = stat.Parent
	}
	return pid
}

// Children returns the living processes that these processes have started.
func (f FS) Children(parents []int) []int {
	var children []int
	for s := range f.Stats() {
		if slices.Contains(parents, s.Parent) {
			children = append(children, s.PID)
		}
	}
	return children
}
