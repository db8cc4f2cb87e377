package procfs

import (
	"fmt"
	"os"
)

// namespaces are those in which what a process sees is another's: the kernel's
// name of each, and ours.
var namespaces = []struct{ file, word string }{
	{"mnt", "mounts"}, {"pid", "processes"}, {"user", "users"},
}

// Apart returns in which respects a process lives in another world than we do: its
// mounts, its processes, its users, its root directory. It fails where that cannot
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
	return apart, nil
}

// Container returns what kind of container a process says that it lives in; empty:
// none, as far as it says.
func (f FS) Container(pid int) string {
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
