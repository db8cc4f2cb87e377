package runner

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestADirectoryIsToldFromAnotherOfItsName(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "src")
	_, known := BirthTime(dir)
	require.False(t, known, "there is none")
	require.NoError(t, os.Mkdir(dir, 0o700))
	first, known := BirthTime(dir)
	var info unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_BTIME, &info)
	require.Equal(t, err == nil && info.Mask&unix.STATX_BTIME != 0, known)
	if !known {
		t.Skip("REPLACED DIRECTORIES ARE NOT TOLD HERE: this file system does not say when they were made")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), nil, 0o600))
	again, _ := BirthTime(dir)
	require.Equal(t, first, again, "what happens in it makes no other of it")

	time.Sleep(20 * time.Millisecond) // file systems have coarse clocks
	require.NoError(t, os.Mkdir(dir+"-other", 0o700))
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Rename(dir+"-other", dir))
	other, _ := BirthTime(dir)
	require.NotEqual(t, first, other)
}
