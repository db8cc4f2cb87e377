package mounts

import (
	"os"
	"syscall"
)

// magic has the numbers of file systems that statfs(2) returns.
var magic = map[uint32]string{
	0x6969: "nfs", 0xff534d42: "cifs", 0xfe534d42: "smb3", 0x517b: "smbfs", 0x01021997: "9p", 0x5346414f: "afs", 0x6b414653: "afs",
	0x73757245: "coda", 0x00c36400: "ceph", 0x01161970: "gfs2", 0x7461636f: "ocfs2", 0x0bd00bd0: "lustre", 0x47504653: "gpfs",
	0x19830326: "beegfs", 0x564c: "ncpfs", 0x786f4256: "vboxsf", 0xbacbacbc: "vmhgfs",
}

// fuse is the number of all file systems that a program serves: the list of mounts has the name.
const fuse = 0x65735546

func numberOf(path string) uint32 {
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) != nil {
		return 0
	}
	return uint32(fs.Type) //nolint:gosec // it is 32 bits wide, whatever the type of the field
}

func network(path string) string {
	if kind := numberOf(path); kind != fuse {
		return magic[kind]
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	if name := mountedAt(string(text), path); shared[name] {
		return name
	}
	return ""
}

// InMemory reports whether a path is on a file system in memory.
func InMemory(path string) bool {
	const tmpfs, ramfs = 0x01021994, 0x858458f6
	kind := numberOf(path)
	return kind == tmpfs || kind == ramfs
}
