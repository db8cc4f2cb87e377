package state

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCursorsOfFilesThatAreLongGoneAreForgotten(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	dir := t.TempDir()
	there, gone, back := filepath.Join(dir, "there"), filepath.Join(dir, "gone"), filepath.Join(dir, "back")
	require.NoError(t, os.WriteFile(there, nil, 0o600))
	cursor := json.RawMessage(`{"inode":7,"offset":12}`)
	for _, path := range []string{there, gone, back, "opencode:db"} {
		s.PutCursor(path, cursor)
	}
	s.PutCursor("codex:list", json.RawMessage(`[1]`))
	require.NoError(t, s.Sync(t.Context()))
	_, err := s.db.Exec("INSERT INTO cursor (path, data) VALUES ('/torn', 'no JSON')")
	require.NoError(t, err)
	prune := func(at time.Time) map[string]json.RawMessage {
		require.NoError(t, s.Sync(t.Context()))
		require.NoError(t, s.pruneCursors(t.Context(), 24*time.Hour, at))
		require.NoError(t, s.Sync(t.Context()))
		snap, err := s.Load()
		require.NoError(t, err)
		require.Len(t, snap.Skipped, 1)
		return snap.Cursors
	}
	now := time.Now()
	require.Len(t, prune(now), 5, "it was not missed before")
	kept := prune(now.Add(23 * time.Hour))
	require.Len(t, kept, 5)
	var read struct{ Inode, Offset int64 }
	require.NoError(t, json.Unmarshal(kept[gone], &read))
	require.EqualValues(t, 12, read.Offset, "it says all that it said")
	require.Equal(t, cursor, kept[there])

	s.PutCursor(back, cursor) // its disk was mounted for a while
	kept = prune(now.Add(25 * time.Hour))
	require.Len(t, kept, 4)
	require.NotContains(t, kept, gone)
	require.Len(t, prune(now.Add(50*time.Hour)), 3, "and is gone for good")
}

// A file that has just come back has a newer cursor than the one that was checked.
func TestANewerCursorIsNotForgotten(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	path := filepath.Join(t.TempDir(), "back")
	s.PutCursor(path, json.RawMessage(`{"offset":1}`))
	require.NoError(t, s.Sync(t.Context()))
	require.NoError(t, s.pruneCursors(t.Context(), time.Hour, time.Now()))
	require.NoError(t, s.Sync(t.Context()))
	require.NoError(t, s.pruneCursors(t.Context(), time.Hour, time.Now().Add(48*time.Hour)))
	s.PutCursor(path, json.RawMessage(`{"offset":2}`))
	require.NoError(t, s.Sync(t.Context()))
	snap, err := s.Load()
	require.NoError(t, err)
	require.JSONEq(t, `{"offset":2}`, string(snap.Cursors[path]))
}
