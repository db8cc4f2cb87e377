package deliver

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
	require.NoDirExists(t, filepath.Join(dir, "6"))
}

// Every claim has a number, and most of those that are held back end without a
// copy: what counts is how many copies there are.
func TestCopiesStayWhereTheirNumbersLeap(t *testing.T) {
	from := filepath.Join(t.TempDir(), "chat.jsonl")
	dir := filepath.Join(t.TempDir(), "kept", "s-1")
	for _, n := range []int{1, 40, 900, 901} {
		require.NoError(t, os.WriteFile(from, []byte("state "+strconv.Itoa(n)), 0o644))
		require.NoError(t, copyAside(from, dir, n))
	}
	copies, err := copiesIn(dir)
	require.NoError(t, err)
	require.Equal(t, []int{40, 900, 901}, copies)
}

// A claim that is held back after its copy is made again every minute.
func TestAFileThatDidNotChangeIsCopiedOnce(t *testing.T) {
	from := filepath.Join(t.TempDir(), "chat.jsonl")
	dir := filepath.Join(t.TempDir(), "kept", "s-1")
	for n := range 10 {
		require.NoError(t, os.WriteFile(from, []byte("state "+strconv.Itoa(min(n, 2))), 0o644))
		require.NoError(t, copyAside(from, dir, n))
	}
	copies, err := copiesIn(dir)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2}, copies)
}

func TestCopiesOfTwoAgentsDoNotMeet(t *testing.T) {
	from := filepath.Join(t.TempDir(), "chat.jsonl")
	d := New(Options{StateDir: t.TempDir()}, nil)
	for _, agent := range []string{"gemini", "mybot", "gemini"} {
		require.NoError(t, os.WriteFile(from, []byte(agent), 0o644))
		session := resume.Session{Key: resume.Key{Agent: agent, ID: "s-1"}, Run: &resume.Run{N: 1}}
		require.Nil(t, d.secure(t.Context(), &fakeAgent{}, session, []string{from}))
	}
	for dir, agent := range map[string]string{"s-1": "gemini", "s-1@mybot": "mybot"} {
		data, err := os.ReadFile(filepath.Join(d.opts.StateDir, "kept", dir, "1", "chat.jsonl"))
		require.NoError(t, err)
		require.Equal(t, agent, string(data))
	}
}

func TestCopiesOfForgottenSessionsGo(t *testing.T) {
	state := t.TempDir()
	require.NoError(t, PruneBackups(state, time.Hour, time.Now()), "there are none yet")
	for _, id := range []string{"old", "new"} {
		require.NoError(t, os.MkdirAll(filepath.Join(state, "kept", id, "1"), 0o700))
	}
	long := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(state, "kept", "old"), long, long))
	require.NoError(t, PruneBackups(state, time.Hour, time.Now()))
	require.NoDirExists(t, filepath.Join(state, "kept", "old"))
	require.DirExists(t, filepath.Join(state, "kept", "new", "1"))
}
