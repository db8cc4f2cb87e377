// Package ownership checks whether another user can have written or placed a file: files that
// control this program must belong to the user or to the system.
package ownership

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"resumed/internal/regular"
	"resumed/internal/sanitize"
)

// Error says that another user can have written such a file.
type Error struct {
	Path string // what is wrong: the file itself, or a directory above it
	Why  string // to be printed after the path
	Fix  string // the command that fixes it
}

func (e *Error) Error() string { return fmt.Sprintf("%s %s: %s", e.Path, e.Why, e.Fix) }

// Trust is the users and groups that the user trusts besides root, by name or number.
type Trust struct {
	Users  []string // with Everybody among them nothing is refused, as for file systems that show all files as writable
	Groups []string // may write; a group without other users need not be listed
}

// Everybody means all users of the machine.
const Everybody = "*"

func (t Trust) everybody() bool { return slices.Contains(t.Users, Everybody) }

// Check returns an *Error if another user can have written the file or directory at path, or can
// replace it: through a directory above it, or through a link on the way. A missing file is
// accepted; one that cannot be read is an error.
func (t Trust) Check(path string) error {
	return walk(path, func(at place) error {
		switch {
		case at.info == nil:
			return nil // nothing to check
		case at.link():
			return t.owned(at) // the mode of a link has no meaning
		case !at.last && at.info.Mode()&fs.ModeSticky != 0:
			return t.owned(at) // only owners may remove or rename files in it
		default:
			return cmp.Or(t.owned(at), t.writable(at))
		}
	})
}

// Owner checks only which user owns the file at path.
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

// OwnerOf is Owner for a file with known info.
func (t Trust) OwnerOf(path string, info fs.FileInfo) error {
	return t.owned(place{path: path, info: info, last: true})
}

// Open checks the file at path and opens it. The open file is checked again.
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
		err = cmp.Or(t.owned(at), t.writable(at))
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

type place struct {
	path string
	info fs.FileInfo // nil: it does not exist
	last bool        // it is the end of the path
}

func (p place) link() bool { return p.info != nil && p.info.Mode()&fs.ModeSymlink != 0 }

func (p place) ids() (uid, gid uint32) {
	stat := p.info.Sys().(*syscall.Stat_t) // true on all supported systems
	return stat.Uid, stat.Gid
}

// mostLinks is how many symbolic links a path may have, as in the kernel.
const mostLinks = 40

// Directories returns the directories with the entries that decide which file path leads to: those of
// the file itself, of every symbolic link on the way, and of the first missing part.
func Directories(path string) []string {
	var dirs []string
	_ = walk(path, func(at place) error { // a part that cannot be read is skipped
		if at.info == nil || at.last || at.link() {
			dirs = append(dirs, filepath.Dir(at.path))
		}
		return nil
	})
	return dirs
}

// walk visits every part of path, from the root directory and through every link. It ends at the
// first missing part, which has no info.
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
	switch { // do not suggest to take over a planted file unread
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

// user reports whether that user id is the user, root, or a trusted user. The owner of the user's
// home directory counts too, because that owner can act as the user anyway: a file server may
// show all of it as owned by nobody.
func (t Trust) user(uid uint32) bool {
	if uid == 0 || int(uid) == os.Geteuid() || slices.Contains(t.Users, strconv.Itoa(int(uid))) {
		return true
	}
	if os.Geteuid() != 0 {
		if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
			if owner, known := ownerOf(home); known && owner == uid {
				return true
			}
		}
	}
	return len(t.Users) > 0 && slices.Contains(t.Users, userName(uid))
}

// group reports whether only trusted users may write through the group: it is trusted itself, or
// has no other users, like the private group that many systems give to every user.
func (t Trust) group(gid uint32) bool {
	switch {
	case gid == 0 || slices.Contains(t.Groups, strconv.Itoa(int(gid))) || slices.Contains(t.Groups, groupName(gid)):
		return true
	case runtime.GOOS == "darwin": // on macOS the files do not list the members
		const admin = 80 // its members may become root
		return gid == admin
	}
	members, listed := membersOf(gid)
	if !listed { // in a directory service: a private group has the number of its user
		return int(gid) == os.Geteuid() && int(gid) == os.Getegid()
	}
	return !slices.ContainsFunc(members, func(uid uint32) bool { return !t.user(uid) })
}

// nobody is the id that the kernel shows for users outside of the namespace.
const nobody = 65534

// behindNobody reports whether a file of nobody probably belongs to root: in a user namespace,
// root may not be visible. That holds for system directories, and for the directories above a
// file.
func behindNobody(uid uint32, at place) bool {
	if uid != nobody {
		return false
	}
	top, _ := ownerOf("/")
	usr, _ := ownerOf("/usr")
	if top != nobody && usr != nobody {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(at.path, "/"), "/")
	return !at.last || slices.Contains([]string{"", "bin", "etc", "lib", "lib64", "nix", "opt", "sbin", "snap", "usr"}, first)
}

func ownerOf(path string) (uid uint32, known bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	uid, _ = place{info: info}.ids()
	return uid, true
}

// membersOf returns the members of a group from /etc; not listed: the group is not there.
func membersOf(gid uint32) (members []uint32, listed bool) {
	const gone = ^uint32(0) // a member that is not a known user
	number := strconv.Itoa(int(gid))
	uids := make(map[string]uint32)
	for _, f := range table("/etc/passwd", 4) { // name:password:uid:gid
		uid, err := strconv.ParseUint(f[2], 10, 32)
		if err != nil {
			continue
		}
		uids[f[0]] = uint32(uid)
		if f[3] == number {
			members = append(members, uint32(uid))
		}
	}
	for _, f := range table("/etc/group", 4) { // name:password:gid:members
		if f[2] != number {
			continue
		}
		listed = true
		for name := range strings.SplitSeq(f[3], ",") {
			if name == "" {
				continue
			}
			uid, known := uids[name]
			if !known {
				uid = gone
				if found, err := user.Lookup(name); err == nil {
					n, _ := strconv.ParseUint(found.Uid, 10, 32) // on unix it is always a number
					uid = uint32(n)
				}
			}
			members = append(members, uid)
		}
	}
	return members, listed
}

// table returns the lines of a file that have at least so many fields between colons.
func table(path string, fields int) (lines [][]string) {
	text, _ := os.ReadFile(path) // without it, nothing is listed
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) >= fields {
			lines = append(lines, f)
		}
	}
	return lines
}

// CurrentUser returns the name of the user who runs this program.
func CurrentUser() string { return userName(uint32(os.Getuid())) }

func userName(uid uint32) string {
	if u, err := user.LookupId(strconv.Itoa(int(uid))); err == nil {
		return u.Username
	}
	return strconv.Itoa(int(uid))
}

func groupName(gid uint32) string {
	if g, err := user.LookupGroupId(strconv.Itoa(int(gid))); err == nil {
		return g.Name
	}
	return strconv.Itoa(int(gid))
}
