package starts

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/mounts"
	"resumed/internal/resume"
)

var key = resume.Key{Agent: "claude-code", ID: "../4f2a"}

func start() Start {
	return Start{
		Origin:  &resume.Origin{Process: resume.Process{PID: 7, Start: 8}, Args: []string{"--deny", "x"}, ArgsSeen: true, Environ: []string{"SECRET=hunter2"}},
		Program: resume.Program{Path: "/bin/claude"},
	}
}

func TestValuesAreOnlyWrittenToMemory(t *testing.T) {
	disk := t.TempDir()
	memory, err := os.MkdirTemp("/dev/shm", "starts-")
	if err != nil || mounts.InMemory(disk) || !mounts.InMemory(memory) {
		t.Skip("SKIPPED: WHERE VALUES ARE WRITTEN IS NOT TESTED HERE: it takes a directory on disk and one in memory")
	}
	defer os.RemoveAll(memory)
	for dir, has := range map[string]bool{disk: false, memory: true} {
		require.NoError(t, In(dir).Put(key, start()))
		got, ok := In(dir).Get(key)
		require.True(t, ok)
		require.Equal(t, has, len(got.Origin.Environ) > 0)
		want := start()
		want.Origin.Environ = got.Origin.Environ
		require.Equal(t, want, got)
		files, err := filepath.Glob(filepath.Join(dir, "starts", "*"))
		require.NoError(t, err)
		require.Len(t, files, 1, "an id is no path")
		info, err := os.Stat(files[0])
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
}

func TestWhatOthersCanWriteIsNotUsed(t *testing.T) {
	dir := t.TempDir()
	store := In(dir)
	_, ok := store.Get(key)
	require.False(t, ok)
	require.NoError(t, store.Put(key, start()))
	for _, path := range []string{filepath.Join(dir, "starts"), store.path(key)} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(path, info.Mode()|0o020))
		_, ok = store.Get(key)
		require.False(t, ok)
		require.NoError(t, os.Chmod(path, info.Mode()))
	}
	require.NoError(t, os.WriteFile(store.path(key), []byte("{"), 0o600))
	_, ok = store.Get(key)
	require.False(t, ok)
}

func TestOldStartsAreRemoved(t *testing.T) {
	store := In(t.TempDir())
	require.NoError(t, store.Prune(time.Now()), "there are none yet")
	require.NoError(t, store.Put(key, start()))
	require.NoError(t, store.Prune(time.Now().Add(-time.Hour)))
	_, ok := store.Get(key)
	require.True(t, ok)
	require.NoError(t, store.Prune(time.Now().Add(time.Hour)))
	_, ok = store.Get(key)
	require.False(t, ok)
}
