package lock_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/lock"
)

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := lock.Take(path)
	require.NoError(t, err)
	_, err = lock.Take(path)
	held, ok := errors.AsType[*lock.HeldError](err)
	require.True(t, ok, err)
	require.Equal(t, os.Getpid(), held.PID)
	require.NoError(t, first.Close())
	again, err := lock.Take(path)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

// A command that a killed process was just starting has its descriptors for a moment longer.
func TestTheHoldOfTheDeadIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	file, err := lock.Take(path)
	require.NoError(t, err)
	dead := exec.Command("true")
	require.NoError(t, dead.Run())
	require.NoError(t, file.Truncate(0))
	_, err = file.WriteAt(fmt.Appendf(nil, "%d\n", dead.Process.Pid), 0)
	require.NoError(t, err)
	time.AfterFunc(200*time.Millisecond, func() { _ = file.Close() })
	again, err := lock.Take(path)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

// The next daemon may have a shorter number than the one before.
func TestTheHolderIsTheOneThatLives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	require.Zero(t, lock.Holder(path), "nobody has had it yet")
	require.NoError(t, os.WriteFile(path, []byte("1234567890\nof an earlier holder\n"), 0o600))
	file, err := lock.Take(path)
	require.NoError(t, err)
	require.Equal(t, os.Getpid(), lock.Holder(path))
	_, err = lock.Take(path)
	held, ok := errors.AsType[*lock.HeldError](err)
	require.True(t, ok, err)
	require.Equal(t, os.Getpid(), held.PID)

	dead := exec.Command("true")
	require.NoError(t, dead.Run())
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "%d\n", dead.Process.Pid), 0o600))
	require.Zero(t, lock.Holder(path), "its process has ended")
	require.NoError(t, file.Close())
}

func TestALinkIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "lock")))
	_, err := lock.Take(filepath.Join(dir, "lock"))
	require.Error(t, err)
	require.NoFileExists(t, filepath.Join(dir, "elsewhere"))
}
