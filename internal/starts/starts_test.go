package starts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/mounts"
	"resumed/internal/resume"
)

var key = resume.Key{Agent: "claude-code", ID: "../4f2a"}

func start() *resume.Origin {
	return &resume.Origin{
		Process: resume.Process{PID: 7, Start: 8}, Program: resume.Program{Path: "/bin/claude"},
		Args: []string{"--deny", "x"}, ArgsSeen: true, Through: []string{"timeout", "5m", "claude"}, Environ: []string{"SECRET=hunter2"},
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
		require.Equal(t, has, len(got.Environ) > 0)
		want := start()
		want.Environ = got.Environ
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
		for _, more := range []os.FileMode{0o001, 0o004, 0o020, 0o040} {
			require.NoError(t, os.Chmod(path, info.Mode()|more))
			_, ok = store.Get(key)
			require.False(t, ok, more)
		}
		if info.IsDir() {
			require.ErrorContains(t, store.Put(key, start()), "is not private")
		}
		require.NoError(t, os.Chmod(path, info.Mode()))
	}
	for _, text := range []string{"{", "{}", "null"} {
		require.NoError(t, os.WriteFile(store.path(key), []byte(text), 0o600))
		_, ok = store.Get(key)
		require.False(t, ok, text)
	}
}

// A link may lead to what another user chose, however private its target is.
func TestALinkIsNotFollowed(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	store, other := In(dir), In(elsewhere)
	require.NoError(t, other.Put(key, start()))
	require.NoError(t, store.Put(key, start()))
	require.NoError(t, os.Remove(store.path(key)))
	require.NoError(t, os.Symlink(other.path(key), store.path(key)))
	_, ok := store.Get(key)
	require.False(t, ok)
	require.NoError(t, store.Put(key, start()), "it is replaced")
	_, ok = store.Get(key)
	require.True(t, ok)

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "starts")))
	require.NoError(t, os.Symlink(filepath.Join(elsewhere, "starts"), filepath.Join(dir, "starts")))
	_, ok = store.Get(key)
	require.False(t, ok)
	require.ErrorContains(t, store.Put(key, start()), "is not private")
}

func TestWhatAnotherUserHasWrittenIsNotUsed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: ONLY ROOT CAN GIVE A FILE TO ANOTHER USER")
	}
	store := In(t.TempDir())
	require.NoError(t, store.Put(key, start()))
	require.NoError(t, os.Chown(store.path(key), 12345, -1))
	_, ok := store.Get(key)
	require.False(t, ok)
}

// A hook that runs in a sandbox cannot tell that it is in one: who reads what it wrote can.
func TestTheRestrictionsOfTheWriterAreSeen(t *testing.T) {
	store := In(t.TempDir())
	require.NoError(t, store.Put(key, start()))
	data, err := os.ReadFile(store.path(key))
	require.NoError(t, err)
	var r record
	require.NoError(t, json.Unmarshal(data, &r))
	if r.Restrictions["network"] == "" {
		t.Skip("SKIPPED: THE NAMESPACES OF A PROCESS CANNOT BE SEEN HERE")
	}
	r.Restrictions["network"] = "net:[1]"
	write := func() {
		data, err := json.Marshal(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(store.path(key), data, 0o600))
	}
	write()
	got, _ := store.Get(key)
	require.Equal(t, "network of its own", got.Sandbox)
	require.Zero(t, got.Program, "what ran in a sandbox is not run outside of it")
	require.Nil(t, got.Through)
	r.Origin.Sandbox = "a container"
	write()
	got, _ = store.Get(key)
	require.Equal(t, "a container", got.Sandbox, "what the writer knew itself says more")
}

func TestAStartThatIsRemovedIsGone(t *testing.T) {
	store := In(t.TempDir())
	require.NoError(t, store.Put(key, start()))
	store.Remove(resume.Key{Agent: "codex", ID: key.ID})
	_, ok := store.Get(key)
	require.True(t, ok, "another agent's")
	store.Remove(key)
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
	other := filepath.Join(store.dir, "mine.txt")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	require.NoError(t, store.Prune(time.Now().Add(time.Hour)))
	_, ok = store.Get(key)
	require.False(t, ok)
	require.FileExists(t, other, "only its own")
}
