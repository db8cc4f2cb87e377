package state

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func TestADamagedDatabaseIsMovedAsideAndItsRestKept(t *testing.T) {
	s := open(t, t.TempDir())
	const all = 2000
	for n := range all {
		s.Put(session(fmt.Sprintf("session-%04d", n), n))
		s.AppendHistory(Entry{At: time.Now(), Key: resume.Key{Agent: "bot", ID: fmt.Sprint(n)}, Kind: "waiting", Data: json.RawMessage(`{}`)})
	}
	s.PutCursor("/t/one", json.RawMessage(`{"offset":1}`))
	s.SetPaused(true)
	require.NoError(t, s.Close())
	good, err := os.ReadFile(s.Path())
	require.NoError(t, err)
	edit := func(at int, with string) []byte {
		return append(append(append([]byte(nil), good[:at]...), with...), good[at+len(with):]...)
	}

	for name, c := range map[string]struct {
		data []byte
		kept int // sessions, at least; the position of the garbage differs from run to run
	}{
		"a format of no kind": {edit(47, "\xfb"), 0},
		"no database at all":  {[]byte(strings.Repeat("plain text\n", 1000)), 0},
		"cut off":             {good[:len(good)/2+100], 0},
		"garbage inside":      {edit(len(good)/2, strings.Repeat("\xff\x00garbage", 1000)), 1},
		"one bad page":        {edit(len(good)-8192, strings.Repeat("\xff", 4096)), 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, databaseName), c.data, 0o600))
			s := open(t, dir)
			require.Len(t, s.Found(), 1)
			require.Contains(t, s.Found()[0], "damaged")
			aside, err := filepath.Glob(filepath.Join(dir, databaseName+".damaged-*"))
			require.NoError(t, err)
			require.NotEmpty(t, aside)
			require.Contains(t, s.Found()[0], aside[0])
			was, err := os.ReadFile(aside[0])
			require.NoError(t, err)
			require.Equal(t, c.data, was, "nothing of it is lost")

			snap := load(t, s)
			require.GreaterOrEqual(t, len(snap.Sessions), c.kept)
			require.Empty(t, snap.Cursors, "what is lost is found again")
			s.Put(session("new", 1))
			s = reopen(t, s)
			require.Empty(t, s.Found(), "it is whole again")
			require.Contains(t, load(t, s).Sessions, session("new", 1))
		})
	}
}

func TestWhatCanBeReadOfADamagedDatabaseIsAllKept(t *testing.T) {
	aside := filepath.Join(t.TempDir(), databaseName)
	from, err := openFile(aside, nil)
	require.NoError(t, err)
	_, err = from.Exec(`
		CREATE TABLE session (agent, id, data);
		INSERT INTO session VALUES ('bot', 'a', '{}'), ('bot', 'bad', NULL), ('bot', 'z', '{}');
		CREATE TABLE value (key, data);
		INSERT INTO value VALUES ('paused', x'31');
		CREATE TABLE delivery (id, of, others);
		INSERT INTO delivery VALUES (1, 2, 3);
		CREATE TABLE history (seq, at, agent, id, kind, data);
		INSERT INTO history VALUES (1, 1, '', '', 'k', '{}'), (2, 2, '', '', 'k', '{}'), (3, 3, '', '', 'k', '{}');`)
	require.NoError(t, err)
	require.NoError(t, from.Close())
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	kept, err := salvage(s.db, aside)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"session": 2, "value": 1, "delivery": 0, "history": 3}, kept, "a bad value, and a table that is not ours, are left out")
	require.Len(t, history(t, s, Filter{}), 3)
}
