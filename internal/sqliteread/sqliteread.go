// Package sqliteread reads SQLite databases of other programs. It creates and changes no files next to
// them, and their writers never wait for it.
package sqliteread

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"resumed/internal/backoff"
)

var errMoved = errors.New("the database changed while it was read")

// Steadily tries again to read what could not be read because another program wrote.
func Steadily(ctx context.Context, read func(context.Context) error) error {
	policy, _ := backoff.Named("contention")
	return backoff.Retry(ctx, policy, read, backoff.Options{Retryable: IsTemporary})
}

// IsTemporary reports whether an error is temporary, for a moment.
func IsTemporary(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code := e.Code() & 0xff // the rest is detail
		return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
	}
	return errors.Is(err, errMoved)
}

// Database is open for one reading: a connection that stays open would keep its writer from cleaning up.
type Database struct {
	*sql.Conn
	Stamp Stamp // when it was opened

	path  string
	pool  *sql.DB
	still bool // no program writes: it is read without locks
}

// Open opens a database. All that is read until Close is from one moment, unless Check returns an error.
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

// busyMillis is how long a reading waits for a lock, as while a database is recovered.
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

// Stamp shows whether a database was written to: if two stamps are equal, it was not.
//
// A writer first writes its log, which may take long to reach the disk, and only then makes it visible
// to readers, in the log's index: so the index is part of the stamp.
type Stamp struct {
	main, wal fileStamp
	index     [indexHeader]byte
}

const indexHeader = 48

type fileStamp struct {
	inode uint64
	size  int64
	mod   time.Time
}

// StampOf returns the stamp of the database at path.
func StampOf(path string) (Stamp, error) {
	main, err := os.Stat(path)
	if err != nil {
		return Stamp{}, err
	}
	if !main.Mode().IsRegular() {
		return Stamp{}, fmt.Errorf("%s is not a regular file", path)
	}
	s := Stamp{main: stampOfFile(main)}
	if wal, err := os.Stat(path + "-wal"); err == nil {
		s.wal = stampOfFile(wal)
	}
	return s, s.readIndex(path + "-shm")
}

// readIndex: without an index, no log is written, or no reader can see it.
func (s *Stamp) readIndex(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.ReadFull(file, s.index[:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil // it was just created
	}
	return err
}

func stampOfFile(info os.FileInfo) fileStamp {
	s := fileStamp{size: info.Size(), mod: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = sys.Ino
	}
	return s
}
