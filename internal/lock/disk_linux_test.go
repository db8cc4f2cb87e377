package lock_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/lock"
)

// Without a lock the daemon would not start, and could not even say that the disk is full.
func TestAFullDiskPreventsNoLock(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("NOT TESTED: a disk that is really full; mounting a small tmpfs needs root: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	require.NoError(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, ballast.Close())

	path := filepath.Join(dir, "lock")
	file, err := lock.Take(path)
	require.NoError(t, err)
	_, err = lock.Take(path)
	held, ok := errors.AsType[*lock.HeldError](err)
	require.True(t, ok, err)
	require.Zero(t, held.PID, "there was no room to say who")
	require.NoError(t, file.Close())
}
