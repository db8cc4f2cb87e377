package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many links the kernel follows in one path.
const maxLinks = 40

// InProject reports whether a path leads through a directory: the file lies below it, or a link on the way to it does,
// so that who may write there chooses what the path means. For a directory with a home in it, the hidden directories of
// that home do not count, nor what is outside of it: there programs are installed.
func InProject(path, dir, home string) bool {
	root := resolved(dir)
	home = resolved(home)
	holdsHome := home == root || isBelow(home, root)
	rest, at, links := strings.Split(path, string(filepath.Separator)), string(filepath.Separator), 0
	for len(rest) > 0 {
		at, rest = filepath.Join(at, rest[0]), rest[1:]
		if isBelow(at, root) && !(holdsHome && isInstalled(at, home)) {
			return true
		}
		target, err := os.Readlink(at)
		if err != nil {
			continue
		}
		if links++; links > maxLinks {
			return true
		}
		if at = filepath.Dir(at); filepath.IsAbs(target) {
			at = string(filepath.Separator)
		}
		rest = append(strings.Split(target, string(filepath.Separator)), rest...)
	}
	return false
}

func resolved(dir string) string {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		return target
	}
	return filepath.Clean(dir)
}

func isBelow(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// isInstalled: relative to the home, a path outside of it begins with a dot too.
func isInstalled(path, home string) bool {
	rel, err := filepath.Rel(home, path)
	return err == nil && strings.HasPrefix(rel, ".")
}

// Fingerprint describes a file, so that another one of that name and every later change of it are noticed.
func Fingerprint(path string) string {
	var info unix.Stat_t
	if err := unix.Stat(path, &info); err != nil {
		return path + " is gone"
	}
	return fmt.Sprintf("%s %d %d %d", path, info.Ino, info.Size, info.Ctim.Nano())
}
