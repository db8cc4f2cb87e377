// Package mounts finds out whether a file is on a file system that other machines can also
// write to.
package mounts

import (
	"os"
	"path/filepath"
	"strings"
)

// Network returns the name of the file system of path, if several machines share it, as with NFS;
// empty: it is local, or not known. For a path that does not exist, the nearest directory above
// counts.
func Network(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	for {
		place, err := filepath.EvalSymlinks(path)
		if err == nil {
			return network(place)
		}
		above := filepath.Dir(path)
		if !os.IsNotExist(err) || above == path {
			return ""
		}
		path = above
	}
}

// shared are the names of file systems that several machines share. Those of FUSE are named
// after the program that serves them.
var shared = map[string]bool{
	"nfs": true, "nfs4": true, "cifs": true, "smb3": true, "smbfs": true, "9p": true, "afs": true, "afpfs": true, "coda": true, "ceph": true, "gfs2": true,
	"ocfs2": true, "lustre": true, "gpfs": true, "beegfs": true, "ncpfs": true, "vboxsf": true, "vmhgfs": true, "virtiofs": true, "webdav": true,
	"fuse.sshfs": true, "fuse.glusterfs": true, "fuse.ceph": true, "fuse.ceph-fuse": true, "fuse.rclone": true, "fuse.s3fs": true, "fuse.goofys": true,
	"fuse.juicefs": true, "fuse.davfs": true, "fuse.moosefs": true, "fuse.mfs": true, "fuse.vmhgfs-fuse": true, "fuse.smbnetfs": true, "fuse.grpcfuse": true, "fuse.osxfs": true,
}

// mountedAt returns the type of the file system of path, from the text of /proc/self/mountinfo:
// that of the longest mount point, and of several the last.
func mountedAt(mountinfo, path string) string {
	longest, kind := -1, ""
	for line := range strings.Lines(mountinfo) {
		before, after, found := strings.Cut(line, " - ")
		fields, types := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 5 || len(types) == 0 {
			continue
		}
		point := unescape.Replace(fields[4])
		within := point == "/" || path == point || strings.HasPrefix(path, point+"/")
		if within && len(point) >= longest {
			longest, kind = len(point), types[0]
		}
	}
	return kind
}

// unescape reverses the kernel's escapes for special characters in paths.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
