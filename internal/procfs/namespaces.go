package procfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// namespaces are those that change what a process sees: the kernel's name of each, and ours.
var namespaces = []struct{ file, word string }{
	{"mnt", "mounts"}, {"pid", "processes"}, {"user", "users"},
}

// Apart returns what a process does not share with this one: mounts, processes, users, root
// directory, user id. It fails if that cannot be read. Systems without /proc do not have such
// namespaces.
func (f FS) Apart(pid int) ([]string, error) {
	if f.asks() {
		return nil, nil
	}
	var apart []string
	for _, ns := range namespaces {
		theirs, err := os.Readlink(f.Path(pid, "ns", ns.file))
		if err != nil {
			return nil, fmt.Errorf("read the namespaces of process %d: %w", pid, err)
		}
		ours, err := os.Readlink(f.Path(os.Getpid(), "ns", ns.file))
		if err != nil {
			return nil, fmt.Errorf("read our own namespaces: %w", err)
		}
		if theirs != ours {
			apart = append(apart, ns.word)
		}
	}
	theirs, err := os.Stat(f.Path(pid, "root") + "/")
	if err != nil {
		return nil, fmt.Errorf("read the root directory of process %d: %w", pid, err)
	}
	if ours, err := os.Stat("/"); err == nil && !os.SameFile(theirs, ours) {
		apart = append(apart, "root directory")
	}
	if user, err := f.user(pid); err != nil {
		return nil, fmt.Errorf("read whose process %d is: %w", pid, err)
	} else if user != os.Getuid() {
		apart = append(apart, "user id")
	}
	return apart, nil
}

// user returns the effective user id of a process. The owner of its directory is not reliable:
// for a process that hides its memory it is root.
func (f FS) user(pid int) (int, error) {
	status, err := read(f.Path(pid, "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if users, ok := strings.CutPrefix(line, "Uid:"); ok {
			if all := strings.Fields(users); len(all) > 1 {
				return strconv.Atoi(all[1]) // the effective one
			}
		}
	}
	return 0, fmt.Errorf("%s does not tell", f.Path(pid, "status"))
}

// Container returns the kind of container that a process is in, by its own information; empty:
// none, or the same as ours.
func (f FS) Container(pid int) string {
	kind := f.container(pid)
	if kind == f.container(os.Getpid()) {
		return ""
	}
	return kind
}

func (f FS) container(pid int) string {
	if kind := f.Variable(pid, "container"); kind != "" {
		return kind
	}
	for _, sign := range []struct{ file, kind string }{{".dockerenv", "docker"}, {"run/.containerenv", "podman"}} {
		if _, err := os.Lstat(f.Path(pid, "root", sign.file)); err == nil {
			return sign.kind
		}
	}
	return ""
}

// Inner returns the pid of a process in its own pid namespace, which may differ from the pid
// here; 0: not known.
func (f FS) Inner(pid int) int {
	status, err := read(f.Path(pid, "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			all := strings.Fields(numbers)
			if len(all) == 0 {
				return 0
			}
			inner, _ := strconv.Atoi(all[len(all)-1]) // the kernel always writes numbers
			return inner
		}
	}
	return 0
}
