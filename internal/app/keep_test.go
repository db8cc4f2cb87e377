package app

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCopiesAreWholeAndTheNewestStay(t *testing.T) {
	from := filepath.Join(t.TempDir(), "chat.jsonl")
	dir := filepath.Join(t.TempDir(), "kept", "s-1")
	for n := 1; n <= 5; n++ {
		require.NoError(t, os.WriteFile(from, []byte("state "+strconv.Itoa(n)), 0o644))
		require.NoError(t, copyAside(from, dir, n))
	}
	for n := 3; n <= 5; n++ {
		path := filepath.Join(dir, strconv.Itoa(n), "chat.jsonl")
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "state "+strconv.Itoa(n), string(data))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "a conversation is private")
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, keptCopies)

	require.ErrorIs(t, copyAside(filepath.Join(dir, "none"), dir, 6), os.ErrNotExist)
	leftovers, err := filepath.Glob(filepath.Join(dir, "6", "*"))
	require.NoError(t, err)
	require.Empty(t, leftovers)
}

func TestCopiesOfForgottenSessionsGo(t *testing.T) {
	state := t.TempDir()
	require.NoError(t, pruneKept(state, time.Hour, time.Now()), "there are none yet")
	for _, id := range []string{"old", "new"} {
		require.NoError(t, os.MkdirAll(filepath.Join(state, "kept", id, "1"), 0o700))
	}
	long := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(state, "kept", "old"), long, long))
	require.NoError(t, pruneKept(state, time.Hour, time.Now()))
	require.NoDirExists(t, filepath.Join(state, "kept", "old"))
	require.DirExists(t, filepath.Join(state, "kept", "new", "1"))
}
