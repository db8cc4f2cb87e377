package procfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kernel's table, with the fields that describe a socket.
const sockets = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1000 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1000 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:1001 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4713 1 0000000000000000 100 0 0 10 0
half a line
`

func TestSocketsOfAProcess(t *testing.T) {
	root := t.TempDir()
	for pid, inodes := range map[string][]string{"42": {"4711", "4713"}, "43": {"4712"}, "44": nil} {
		fds := filepath.Join(root, pid, "fd")
		require.NoError(t, os.MkdirAll(fds, 0o700))
		for i, inode := range inodes {
			require.NoError(t, os.Symlink("socket:["+inode+"]", filepath.Join(fds, string(rune('3'+i)))))
		}
		require.NoError(t, os.Mkdir(filepath.Join(root, pid, "net"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, pid, "net", "tcp"), []byte(sockets), 0o600))
	}
	f := FS(root)
	require.Equal(t, []string{"4096", "4097"}, f.Listening(42))
	require.False(t, f.Connected(42), "one that listens is no connection")
	require.Empty(t, f.Listening(43), "a connection is none that listens")
	require.True(t, f.Connected(43))
	require.Empty(t, f.Listening(44), "the sockets are another process's")
	require.False(t, f.Connected(44))
}
