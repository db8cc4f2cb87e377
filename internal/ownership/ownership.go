// Package ownership says whether another user can have written a file, or put it
// where it lies: what is obeyed must be the user's own or the system's.
package ownership

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"resumed/internal/regular"
	"resumed/internal/sanitize"
)

// Error says that another user can have written what is obeyed.
type Error struct {
	Path string // what is wrong: the file itself, or a directory above it
	Why  string // in words that follow the path
	Fix  string // the command that mends it
}

func (e *Error) Error() string { return fmt.Sprintf("%s %s: %s", e.Path, e.Why, e.Fix) }

// Trust is whom the user trusts besides root and himself, by names or numbers.
type Trust struct {
	Users  []string // Everybody among them: no file system that shows all as open is in the way
	Groups []string // that may write; one without strangers needs no mention
}

// Everybody stands for all users of the machine.
const Everybody = "*"

func (t Trust) everybody() bool { return slices.Contains(t.Users, Everybody) }

// Check returns an *Error where another user can have written the file or
// directory at path, or can put another in its place: by a directory above it,
// or by a link on the way. What does not exist is nobody's; what cannot be
// looked at is an error.
func (t Trust) Check(path string) error {
	return walk(path, func(at place) error {
		switch {
		case at.info == nil:
			return nil // what does not exist belongs to nobody
		case at.link():
			return t.owned(at) // its mode means nothing
		case !at.last && at.info.Mode()&fs.ModeSticky != 0:
			return t.owned(at) // only owners take away or rename what lies in it
		default:
			if err := t.owned(at); err != nil {
				return err
			}
			return t.writable(at)
		}
	})
}

// Owner is Check of whom the file at path belongs to, and of nothing else.
func (t Trust) Owner(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.OwnerOf(path, info)
}

// OwnerOf is Owner of a file that was looked at already.
func (t Trust) OwnerOf(path string, info fs.FileInfo) error {
	return t.owned(place{path: path, info: info, last: true})
}

// Open checks the file at path and opens it. What was checked is what is read.
func (t Trust) Open(path string) (*os.File, error) {
	if err := t.Check(path); err != nil {
		return nil, err
	}
	if err := regular.Check(path); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		at := place{path: path, info: info, last: true}
		if err = t.owned(at); err == nil {
			err = t.writable(at)
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// place is one thing on the way to a file.
type place struct {
	path string
	info fs.FileInfo // nil: it does not exist
	last bool        // it is what the way leads to
}

func (p place) link() bool { return p.info != nil && p.info.Mode()&fs.ModeSymlink != 0 }

// ids returns the numbers of owner and group.
func (p place) ids() (uid, gid uint32) {
	stat := p.info.Sys().(*syscall.Stat_t) // on every system that this is built for
	return stat.Uid, stat.Gid
}

// mostLinks is how many symbolic links a way may have, as in the kernel.
const mostLinks = 40

// Directories returns the directories whose entries decide which file path leads to: those of
// the file itself, of every symbolic link on the way, and of the first part that is missing.
func Directories(path string) []string {
	var dirs []string
	_ = walk(path, func(at place) error { // what cannot be read decides nothing
		if at.info == nil || at.last || at.link() {
			dirs = append(dirs, filepath.Dir(at.path))
		}
		return nil
	})
	return dirs
}

// walk visits every part of path, from the root directory on and through every link. It
// ends at the first part that is missing, which has no info.
func walk(path string, visit func(place) error) error {
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	at, rest := "/", append([]string{"."}, parts(full)...)
	for links := 0; len(rest) > 0; {
		name := filepath.Join(at, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return visit(place{path: name})
		}
		if err != nil {
			return err
		}
		here := place{path: name, info: info, last: len(rest) == 0}
		if err := visit(here); err != nil {
			return err
		}
		if !here.link() {
			at = name
			continue
		}
		target, err := os.Readlink(name)
		if links++; err != nil || links > mostLinks {
			return errors.Join(err, fmt.Errorf("%s: too many links", path))
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(parts(target), rest...)
	}
	return nil
}

func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

func (t Trust) owned(at place) error {
	uid, _ := at.ids()
	if t.everybody() || t.user(uid) || behindNobody(uid, at) {
		return nil
	}
	wrong := &Error{
		Path: at.path,
		Why:  fmt.Sprintf("belongs to %s, not to you", userName(uid)),
		Fix:  fmt.Sprintf("sudo chown %s %s", userName(uint32(os.Geteuid())), sanitize.ShellWord(at.path)),
	}
	switch { // what was planted must not be taken over unread
	case at.link():
		wrong.Fix = "rm " + sanitize.ShellWord(at.path)
	case at.info.Mode().IsRegular():
		wrong.Fix = "rm " + sanitize.ShellWord(at.path) + ", or if you know what it holds: " + wrong.Fix
	case at.last:
		wrong.Fix = "if you know what it holds: " + wrong.Fix
	}
	return wrong
}

func (t Trust) writable(at place) error {
	mode := at.info.Mode().Perm()
	_, gid := at.ids()
	by := ""
	switch {
	case t.everybody():
		return nil
	case mode&0o002 != 0:
		by = "everybody"
	case mode&0o020 != 0 && !t.group(gid):
		by = "the group " + groupName(gid)
	default:
		return nil
	}
	why := "can be written by " + by
	if !at.last {
		why = "is a directory in which " + by + " can replace what it holds"
	}
	return &Error{Path: at.path, Why: why, Fix: "chmod go-w " + sanitize.ShellWord(at.path)}
}
