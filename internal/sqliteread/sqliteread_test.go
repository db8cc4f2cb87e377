package sqliteread

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// theirs is a database of another program, open for writing.
func theirs(t *testing.T, mode string) (*sql.DB, string) {
	path := filepath.Join(t.TempDir(), "a b?.sqlite") // a name that must be quoted
	db, err := sql.Open("sqlite", "file:"+filepath.Dir(path)+"/a%20b%3F.sqlite?_pragma=journal_mode("+mode+")")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	write(t, db, "CREATE TABLE notes (text)")
	write(t, db, "INSERT INTO notes VALUES ('one')")
	return db, path
}

func write(t *testing.T, db *sql.DB, statement string) {
	_, err := db.ExecContext(t.Context(), statement)
	require.NoError(t, err)
}

func count(t *testing.T, path string) (n int) {
	require.NoError(t, Steadily(t.Context(), func(ctx context.Context) error {
		db, err := Open(ctx, path)
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		require.NoError(t, db.QueryRowContext(ctx, "SELECT count(*) FROM notes").Scan(&n))
		return db.Check()
	}))
	return n
}

// files returns the files in a database's directory, with their stamps.
func files(t *testing.T, path string) map[string]fileStamp {
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	found := make(map[string]fileStamp)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		found[e.Name()] = stampOfFile(info)
	}
	return found
}

func TestALookLeavesNoTrace(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		db, path := theirs(t, mode)
		before := files(t, path)
		require.Equal(t, 1, count(t, path), mode)
		require.Equal(t, before, files(t, path), mode)

		write(t, db, "INSERT INTO notes VALUES ('two')")
		require.Equal(t, 2, count(t, path), mode)
		require.NoError(t, db.Close())
		before = files(t, path)
		require.Equal(t, 2, count(t, path), "after its writer has ended")
		require.Equal(t, before, files(t, path), mode)
	}
}

func TestALookKeepsNobodyFromWriting(t *testing.T) {
	db, path := theirs(t, "WAL")
	look, err := Open(t.Context(), path)
	require.NoError(t, err)
	var n int
	require.NoError(t, look.QueryRowContext(t.Context(), "SELECT count(*) FROM notes").Scan(&n))
	write(t, db, "INSERT INTO notes VALUES ('two')")
	require.NoError(t, look.QueryRowContext(t.Context(), "SELECT count(*) FROM notes").Scan(&n))
	require.Equal(t, 1, n, "all of it stood there at one time")
	require.NoError(t, look.Check())
	_, err = look.ExecContext(t.Context(), "INSERT INTO notes VALUES ('three')")
	require.Error(t, err, "a look is no more than that")
	require.NoError(t, look.Close())
	require.Equal(t, 2, count(t, path))
}

func TestALookThatWasOvertakenIsTakenAgain(t *testing.T) {
	db, path := theirs(t, "DELETE")
	looks := 0
	require.NoError(t, Steadily(t.Context(), func(ctx context.Context) error {
		look, err := Open(ctx, path)
		require.NoError(t, err)
		defer func() { require.NoError(t, look.Close()) }()
		if looks++; looks == 1 {
			write(t, db, "INSERT INTO notes VALUES (zeroblob(10000))")
		}
		return look.Check()
	}))
	require.Equal(t, 2, looks)
}

// A commit that readers can see changes the stamp, even if no file looks different.
func TestAStampTellsEveryCommit(t *testing.T) {
	db, path := theirs(t, "WAL")
	write(t, db, "UPDATE notes SET text = 'two'")
	before, err := StampOf(path)
	require.NoError(t, err)
	log, err := os.Stat(path + "-wal")
	require.NoError(t, err)

	const again = "UPDATE notes SET text = 'six'"
	for range 20 { // until the restarted log is as long as before
		write(t, db, "PRAGMA wal_checkpoint(RESTART)")
		write(t, db, again)
	}
	require.NoError(t, os.Chtimes(path+"-wal", log.ModTime(), log.ModTime()))
	now, err := StampOf(path)
	require.NoError(t, err)
	require.Equal(t, before.wal, now.wal, "by its log it is the same")
	now.main = before.main
	require.NotEqual(t, before, now)
}

func TestWhatIsNoDatabase(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(t.Context(), filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(t.Context(), dir)
	require.ErrorContains(t, err, "not a regular file")
}
