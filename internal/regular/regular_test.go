package regular

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyARegularFileIsRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, Check(path), "nothing has that name")
	_, err := Read(path)
	require.ErrorIs(t, err, os.ErrNotExist)

	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("f", link))
	for _, name := range []string{path, link} {
		data, err := Read(name)
		require.NoError(t, err)
		require.Equal(t, "text", string(data))
	}
	for what, make := range map[string]func() error{
		"open %s: is a directory":                      func() error { return os.Mkdir(path, 0o700) },
		"%s is a named pipe, not a file; move it away": func() error { return syscall.Mkfifo(path, 0o600) },
		"%s is a socket, not a file; move it away": func() error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
		"%s is a device, not a file; move it away": func() error { return os.Symlink(os.DevNull, path) },
	} {
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, make())
		for _, name := range []string{path, link} {
			_, err := Read(name)
			require.EqualError(t, err, fmt.Sprintf(what, name))
		}
	}
}

func TestAPipeThatTheProcessWasGivenHasNoName(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc")
	}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	require.NoError(t, Check(filepath.Join("/proc/self/fd", strconv.Itoa(int(r.Fd())))))
}
