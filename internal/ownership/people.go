package ownership

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

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
