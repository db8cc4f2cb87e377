package ownership

import (
	"bufio"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// user reports whether the user of that number is the user himself, root, or one
// who is trusted. Whoever owns the user's home can do all in his name anyway: so
// it is where a file server shows all of it as nobody's.
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

// group reports whether nobody may write by the group who is not trusted to: it
// is trusted itself, or there is no stranger in it, as in the group of one's own
// that many systems give every user.
func (t Trust) group(gid uint32) bool {
	switch {
	case gid == 0 || slices.Contains(t.Groups, strconv.Itoa(int(gid))) || slices.Contains(t.Groups, groupName(gid)):
		return true
	case runtime.GOOS == "darwin": // its files do not tell who is in a group
		const admin = 80 // its members may become root
		return gid == admin
	}
	members, listed := membersOf(gid)
	if !listed { // a directory service has it: a group of one's own has one's own number
		return int(gid) == os.Geteuid() && int(gid) == os.Getegid()
	}
	return !slices.ContainsFunc(members, func(uid uint32) bool { return !t.user(uid) })
}

// nobody is what the kernel shows for users that it cannot show.
const nobody = 65534

// behindNobody reports whether a file that seems to be nobody's is likely
// root's: in a namespace of the user's own, root cannot be seen. What lies in the
// directories of the system, and the directories above a file, are root's then.
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
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, true
}

// membersOf returns who is in a group, by the files of the system; not listed:
// they do not know the group.
func membersOf(gid uint32) (members []uint32, listed bool) {
	const gone = ^uint32(0) // a member of whom nobody knows who it is
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
					if n, err := strconv.ParseUint(found.Uid, 10, 32); err == nil {
						uid = uint32(n)
					}
				}
			}
			members = append(members, uid)
		}
	}
	return members, listed
}

// table returns the lines of a file with fields between colons, as many at least.
func table(path string, fields int) [][]string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	var lines [][]string
	for scan := bufio.NewScanner(file); scan.Scan(); {
		if f := strings.Split(strings.TrimSpace(scan.Text()), ":"); len(f) >= fields {
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
