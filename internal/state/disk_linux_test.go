package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestADiskThatIsReallyFull(t *testing.T) {
	s := open(t, filepath.Join(mountTiny(t, 1<<20), "state"))
	closed := false
	t.Cleanup(func() {
		if !closed {
			s.Close()
		}
	})
	s.Put(session("before", 1))
	require.NoError(t, s.Sync(t.Context()))

	ballast := filepath.Join(filepath.Dir(filepath.Dir(s.Path())), "ballast")
	fill(t, ballast)
	big := session("claim", 1)
	big.Reason.Text = strings.Repeat("x", 100_000)
	s.Put(big)
	require.ErrorContains(t, s.Sync(t.Context()), "full", "a claim that is not on disk must not be acted on")
	require.Error(t, s.Err())

	require.NoError(t, os.Remove(ballast))
	require.NoError(t, s.Sync(t.Context()))
	require.NoError(t, s.Err())
	closed = true
	s = reopen(t, s)
	require.Len(t, load(t, s).Sessions, 2)
	require.NoError(t, s.Close(), "before the file system goes")
}

// mountTiny returns a directory on a file system of that size.
func mountTiny(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("NOT TESTED: a disk that is really full; mounting a small tmpfs needs root: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

// fill writes to the file until its file system has no room left.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	for {
		if _, err := file.Write(make([]byte, 4096)); err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			return
		}
	}
}
