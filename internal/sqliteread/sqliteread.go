// Package sqliteread reads SQLite databases of other programs. It creates and changes no files next to
// them, and their writers never wait for it.
package sqliteread

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"resumed/internal/backoff"
)

// errMoved means that a database changed while it was read without locks.
var errMoved = errors.New("the database changed while it was read")

// Steadily tries again to read what could not be read because another program wrote.
func Steadily(ctx context.Context, read func(context.Context) error) error {
	policy, _ := backoff.Named("contention")
	return backoff.Retry(ctx, policy, read, backoff.Options{Retryable: Passing})
}

// Passing reports whether an error is temporary, for a moment.
func Passing(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code := e.Code() & 0xff // the rest is detail
		return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
	}
	return errors.Is(err, errMoved)
}

// Database is a database that is open for one reading. It is opened and closed for each one: a
// connection that stays open would keep the writing program from cleaning up when it ends.
type Database struct {
	*sql.Conn
	Stamp Stamp // when it was opened

	path  string
	pool  *sql.DB
	still bool // no program writes: it is read without locks
}

// Open opens a database. Everything that is read until Close is from the same moment, unless Check
// returns an error.
func Open(ctx context.Context, path string) (*Database, error) {
	seen, err := StampOf(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := &Database{path: path, Stamp: seen, still: seen.wal.size == 0}
	if db.pool, err = sql.Open("sqlite", db.dsn()); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if db.Conn, err = db.pool.Conn(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), db.pool.Close())
	}
	if _, err = db.ExecContext(ctx, "BEGIN"); err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), db.Close())
	}
	return db, nil
}

// busyMillis is how long a reading waits for a lock. With a write-ahead log there is none, except while
// a database is recovered.
const busyMillis = 200

func (db *Database) dsn() string {
	query := url.Values{"mode": {"ro"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyMillis), "query_only(1)"}}
	switch _, err := os.Stat(db.path + "-shm"); {
	case db.still:
		query.Set("immutable", "1") // otherwise SQLite would create the log and its index
	case err == nil:
		query.Set("readonly_shm", "1") // otherwise SQLite would write to the index
	}
	file := url.URL{Scheme: "file", Path: db.path, RawQuery: query.Encode()}
	return file.String()
}

// Close ends the reading.
func (db *Database) Close() error {
	return errors.Join(db.Conn.Close(), db.pool.Close())
}

// Check returns an error if what was read may be inconsistent.
func (db *Database) Check() error {
	if !db.still {
		return nil // SQLite's own locks ensured it
	}
	now, err := StampOf(db.path)
	if err != nil {
		return fmt.Errorf("read database: %w", err)
	}
	if now.main != db.Stamp.main {
		return errMoved
	}
	return nil
}
