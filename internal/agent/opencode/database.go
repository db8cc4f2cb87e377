package opencode

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"resumed/internal/backoff"
)

// errMoved says that a database changed under a reader that took no locks.
var errMoved = errors.New("the database changed while it was read")

// steadily reads again what could not be read because somebody wrote.
func steadily(ctx context.Context, read func(context.Context) error) error {
	policy, _ := backoff.Named("contention")
	return backoff.Retry(ctx, policy, read, backoff.Options{Retryable: passing})
}

// passing reports whether an error is over in an instant.
func passing(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code := e.Code() & 0xff // the rest is detail
		return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
	}
	return errors.Is(err, errMoved)
}

// database is a database that is open for one look. It is opened for each look
// and closed after it: a connection that stays open would keep opencode from
// tidying up when it ends.
type database struct {
	path    string
	conn    *sql.Conn
	pool    *sql.DB
	still   bool  // nobody writes: it is read without locks
	stamp   stamp // when it was opened
	columns map[string]map[string]bool
}

// openDatabase opens a database so that nothing beside it is created or changed
// and its writer never waits for us.
func openDatabase(ctx context.Context, path string) (*database, error) {
	seen, err := stampOf(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := &database{path: path, stamp: seen, still: seen.wal.size == 0}
	if db.pool, err = sql.Open("sqlite", db.dsn()); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if db.conn, err = db.pool.Conn(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), db.pool.Close())
	}
	// One transaction: all that is read stood there at one time.
	if _, err = db.conn.ExecContext(ctx, "BEGIN"); err == nil {
		err = db.describe(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, db.close())
	}
	return db, nil
}

// busyMillis is how long a look waits for a lock. With a write-ahead log there
// are none but in the instant in which a database is recovered.
const busyMillis = 200

func (db *database) dsn() string {
	query := url.Values{"mode": {"ro"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyMillis), "query_only(1)"}}
	switch _, err := os.Stat(db.path + "-shm"); {
	case db.still:
		query.Set("immutable", "1") // else SQLite would create the log and its index
	case err == nil:
		query.Set("readonly_shm", "1") // else it would write into the index
	}
	file := url.URL{Scheme: "file", Path: db.path, RawQuery: query.Encode()}
	return file.String()
}

func (db *database) close() error {
	return errors.Join(db.conn.Close(), db.pool.Close())
}

// check returns an error where what was read may be torn.
func (db *database) check() error {
	if !db.still {
		return nil // SQLite's own locks saw to it
	}
	now, err := stampOf(db.path)
	if err != nil {
		return fmt.Errorf("read database: %w", err)
	}
	if now.main != db.stamp.main {
		return errMoved
	}
	return nil
}

// stamp tells whether a database was written to.
type stamp struct{ main, wal fileStamp }

type fileStamp struct {
	inode uint64
	size  int64
	mod   time.Time
}

func stampOf(path string) (stamp, error) {
	main, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	if !main.Mode().IsRegular() {
		return stamp{}, fmt.Errorf("%s is not a regular file", path)
	}
	s := stamp{main: stampOfFile(main)}
	if wal, err := os.Stat(path + "-wal"); err == nil {
		s.wal = stampOfFile(wal)
	}
	return s, nil
}

func stampOfFile(info os.FileInfo) fileStamp {
	s := fileStamp{size: info.Size(), mod: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = sys.Ino
	}
	return s
}

// needed is what a database must have to be opencode's.
var needed = map[string][]string{
	"session": {"id"},
	"message": {"id", "session_id", "data"},
}

// describe learns which columns there are: they differ between versions.
func (db *database) describe(ctx context.Context) error {
	rows, err := db.conn.QueryContext(ctx, `
		SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name IN ('session', 'message', 'part')`)
	if err != nil {
		return fmt.Errorf("read database: %w", err)
	}
	defer rows.Close()
	db.columns = make(map[string]map[string]bool)
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return fmt.Errorf("read database: %w", err)
		}
		if db.columns[table] == nil {
			db.columns[table] = make(map[string]bool)
		}
		db.columns[table][column] = true
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read database: %w", err)
	}
	for table, columns := range needed {
		for _, column := range columns {
			if !db.columns[table][column] {
				return fmt.Errorf("read database: it is not one of %s: it has no %s.%s", Name, table, column)
			}
		}
	}
	return nil
}

// pick returns the expression for a column that may be missing.
func (db *database) pick(table, column, otherwise string) string {
	if db.columns[table][column] {
		return fmt.Sprintf("coalesce(%s, %s)", column, otherwise)
	}
	return otherwise
}

// conversation is one row of the table session.
type conversation struct {
	id        string
	parent    string // of a child session
	directory string
	createdMS int64
	archived  bool
	agent     string // which of opencode's agents works on it: each has its own permissions
}

func (db *database) sessionColumns() string {
	return strings.Join([]string{
		"id",
		db.pick("session", "parent_id", "''"),
		db.pick("session", "directory", "''"),
		db.pick("session", "time_created", "0"),
		db.pick("session", "time_archived", "0") + " <> 0",
		db.pick("session", "agent", "''"),
	}, ", ")
}

// conversations returns the sessions, oldest first.
func (db *database) conversations(ctx context.Context) ([]conversation, error) {
	rows, err := db.conn.QueryContext(ctx, "SELECT "+db.sessionColumns()+" FROM session ORDER BY 4, 1")
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	defer rows.Close()
	var all []conversation
	for rows.Next() {
		c, err := scanConversation(rows.Scan)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	return all, nil
}

// conversation returns one session, or false where it is not there.
func (db *database) conversation(ctx context.Context, id string) (conversation, bool, error) {
	row := db.conn.QueryRowContext(ctx, "SELECT "+db.sessionColumns()+" FROM session WHERE id = ?", id)
	c, err := scanConversation(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return conversation{}, false, nil
	}
	return c, err == nil, err
}

func scanConversation(scan func(...any) error) (conversation, error) {
	var c conversation
	var created any // SQLite's columns hold what was put into them
	if err := scan(&c.id, &c.parent, &c.directory, &created, &c.archived, &c.agent); err != nil {
		return conversation{}, fmt.Errorf("read session: %w", err)
	}
	c.createdMS = number(created)
	return c, nil
}

func number(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case float64:
		return millis(n)
	default:
		return 0
	}
}
