package runfiles

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func TestCopiesAreWholeAndTheNewestStay(t *testing.T) {
	from := filepath.Join(t.TempDir(), "chat.jsonl")
	dir := filepath.Join(t.TempDir(), "kept", "s-1")
	for n := 1; n <= 5; n++ {
		require.NoError(t, os.WriteFile(from, []byte("state "+strconv.Itoa(n)), 0o644))
		require.NoError(t, copyInto(dir, from, n))
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

	require.ErrorIs(t, copyInto(dir, filepath.Join(dir, "none"), 6), os.ErrNotExist)
	require.NoDirExists(t, filepath.Join(dir, "6"))
}

// Every claim has a number, and most claims that are held back make no copy: so the limit is on
// the number of copies.
func TestCopiesStayWhereTheirNumbersLeap(t *testing.T) {
	from := filepath.Join(t.TempDir(), "chat.jsonl")
	dir := filepath.Join(t.TempDir(), "kept", "s-1")
	for _, n := range []int{1, 40, 900, 901} {
		require.NoError(t, os.WriteFile(from, []byte("state "+strconv.Itoa(n)), 0o644))
		require.NoError(t, copyInto(dir, from, n))
	}
	require.Equal(t, []int{40, 900, 901}, numbers(dir, ""))
}

// A claim that is held back after its copy was made is repeated every minute.
func TestAFileThatDidNotChangeIsCopiedOnce(t *testing.T) {
	from := filepath.Join(t.TempDir(), "chat.jsonl")
	dir := filepath.Join(t.TempDir(), "kept", "s-1")
	for n := range 10 {
		require.NoError(t, os.WriteFile(from, []byte("state "+strconv.Itoa(min(n, 2))), 0o644))
		require.NoError(t, copyInto(dir, from, n))
	}
	require.Equal(t, []int{0, 1, 2}, numbers(dir, ""))
}

func TestCopiesOfTwoAgentsDoNotMeet(t *testing.T) {
	from := filepath.Join(t.TempDir(), "chat.jsonl")
	state := t.TempDir()
	for _, agent := range []string{"gemini", "mybot", "gemini"} {
		require.NoError(t, os.WriteFile(from, []byte(agent), 0o644))
		require.NoError(t, New(state).Copy(resume.Key{Agent: agent, ID: "s-1"}, 1, []string{from}))
	}
	for dir, agent := range map[string]string{"s-1": "gemini", "s-1@mybot": "mybot"} {
		data, err := os.ReadFile(filepath.Join(state, "kept", dir, "1", "chat.jsonl"))
		require.NoError(t, err)
		require.Equal(t, agent, string(data))
	}
}

func TestCopiesOfForgottenSessionsGo(t *testing.T) {
	state := t.TempDir()
	prune := func() error { return New(state).Prune(time.Hour, 1<<20, time.Now(), nil) }
	require.NoError(t, prune(), "there are none yet")
	for _, id := range []string{"old", "new"} {
		require.NoError(t, os.MkdirAll(filepath.Join(state, "kept", id, "1"), 0o700))
	}
	long := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(state, "kept", "old"), long, long))
	require.NoError(t, prune())
	require.NoDirExists(t, filepath.Join(state, "kept", "old"))
	require.DirExists(t, filepath.Join(state, "kept", "new", "1"))
}
