package procfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// namespaces are those in which what a process sees is another's: the kernel's
// name of each, and ours.
var namespaces = []struct{ file, word string }{
	{"mnt", "mounts"}, {"pid", "processes"}, {"user", "users"},
}

// Apart returns in which respects a process lives in another world than we do: its
// mounts, its processes, its users, its root directory, its own user. It fails where that cannot
// be known. Systems without a /proc have no such worlds.
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

// user returns whose process it is. The owner of its directory does not tell: one
// that hides its memory is root's there.
func (f FS) user(pid int) (int, error) {
	status, err := read(f.Path(pid, "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if users, ok := strings.CutPrefix(line, "Uid:"); ok {
			if all := strings.Fields(users); len(all) > 1 {
				return strconv.Atoi(all[1]) // the one that counts
			}
		}
	}
	return 0, fmt.Errorf("%s does not tell", f.Path(pid, "status"))
}

// Container returns what kind of container a process says that it lives in; empty:
// none that we do not live in ourselves, as far as it says.
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

// Inner returns the number by which a process knows itself: another one than ours
// for it where it lives in a namespace of processes of its own. It is 0 where
// nobody tells.
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
			inner, _ := strconv.Atoi(all[len(all)-1]) // the kernel writes numbers
			return inner
		}
	}
	return 0
}
