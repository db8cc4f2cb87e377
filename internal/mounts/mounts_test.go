package mounts

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheFileSystemOfAPathIsThatOfTheLongestMountPoint(t *testing.T) {
	const mountinfo = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:35 / /home rw - nfs4 server:/home rw,vers=4.2
41 40 0:36 / /home/me/my\040box rw,nosuid - fuse.sshfs me@box:/ rw
42 22 0:37 / /homestead rw - btrfs /dev/sdb rw
43 40 0:38 / /home/me/local rw - fuse.gocryptfs /x rw
44 40 0:39 / /home/me/local rw - tmpfs tmpfs rw
broken line
`
	for path, kind := range map[string]string{
		"/etc/passwd": "ext4", "/": "ext4", "/home/me/.claude": "nfs4", "/home": "nfs4", "/homestead/x": "btrfs",
		"/home/me/my box/x": "fuse.sshfs", "/home/me/my boxes": "nfs4", "/home/me/local/x": "tmpfs",
	} {
		require.Equal(t, kind, mountedAt(mountinfo, path), path)
	}
	require.Empty(t, mountedAt("", "/"))
}

func TestWhatDoesNotExistIsJudgedByTheDirectoryAbove(t *testing.T) {
	dir := t.TempDir()
	require.Equal(t, Network(dir), Network(filepath.Join(dir, "not", "there")))
	require.Equal(t, network(dir), Network(dir))
}
