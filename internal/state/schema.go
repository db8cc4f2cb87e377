package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"resumed/internal/regular"
)

const (
	databaseName = "resumed.db"

	// schemaVersion is stored in the database's user_version. A database of a lower version is set aside, not converted.
	schemaVersion = 2

	// applicationID is stored in the database's header, so that another program's file of the same name
	// is not taken for ours: "RSMD".
	applicationID = 0x52534d44

	busyTimeout = "busy_timeout(5000)" // milliseconds
)

// Times are milliseconds since 1970; 0: none. Tables with rows of a kilobyte or more have a rowid:
// without it, a row of more than a quarter of a page would take a page of its own.
const schema = `
CREATE TABLE session (
	agent TEXT NOT NULL,
	id    TEXT NOT NULL,
	data  TEXT NOT NULL,
	PRIMARY KEY (agent, id)
) STRICT;

CREATE TABLE cursor (
	path TEXT NOT NULL PRIMARY KEY,
	data TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE value (
	key  TEXT NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE delivery (
	id         TEXT NOT NULL,
	channel    TEXT NOT NULL,
	payload    BLOB,
	created_at INTEGER NOT NULL,
	tries      INTEGER NOT NULL,
	next_at    INTEGER NOT NULL,
	last_error TEXT NOT NULL,
	done_at    INTEGER NOT NULL,
	outcome    TEXT NOT NULL,
	PRIMARY KEY (id, channel)
) STRICT, WITHOUT ROWID;

CREATE TABLE history (
	seq   INTEGER PRIMARY KEY,
	at    INTEGER NOT NULL,
	agent TEXT NOT NULL,
	id    TEXT NOT NULL,
	kind  TEXT NOT NULL,
	data  TEXT NOT NULL
) STRICT;
CREATE INDEX history_at ON history (at);
CREATE INDEX history_session ON history (agent, id);
`

// VersionError says that the database was written by another version of resumed, or by another program.
type VersionError struct {
	Path  string
	Found int // 0: not a state database
	Known int
}

func (e *VersionError) Error() string {
	switch {
	case e.Found == 0:
		return fmt.Sprintf("%s is not a state database of resumed; move it away to start afresh", e.Path)
	case e.older():
		return fmt.Sprintf("%s has state version %d and this resumed knows version %d; the daemon sets it aside when it starts", e.Path, e.Found, e.Known)
	}
	return fmt.Sprintf("%s has state version %d and this resumed knows version %d; "+
		"run the resumed that wrote it, or move the file away to start afresh", e.Path, e.Found, e.Known)
}

func (e *VersionError) older() bool { return e.Found > 0 && e.Found < e.Known }

// DamagedError says that the database cannot be read.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged (%v); start the daemon again: it keeps what can be read, and interruptions are found again in the transcripts",
		e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// checkFiles returns an error if the database, or one of SQLite's files beside it, is not a regular
// file: SQLite would block for ever, or report a disk error.
func checkFiles(path string) error {
	return errors.Join(regular.Check(path), regular.Check(path+"-wal"), regular.Check(path+"-shm"))
}

// openDatabase opens the database in dir, or creates it. Nothing is written before it is known to be
// ours.
func openDatabase(dir string) (*sql.DB, error) {
	path := filepath.Join(dir, databaseName)
	if err := checkFiles(path); err != nil {
		return nil, err
	}
	// SQLite would create it readable by all, and uses its mode for the files beside it.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open state database: %w", err)
	}
	file.Close()

	db, err := openFile(path, url.Values{"_pragma": {busyTimeout, "synchronous(FULL)"}, "_txlock": {"immediate"}})
	if err != nil {
		return nil, err
	}
	fresh, err := identify(db, path)
	switch {
	case err != nil:
	case fresh:
		err = create(db)
	default:
		err = check(db, path)
	}
	if err != nil {
		return nil, errors.Join(judge(path, err), db.Close())
	}
	return db, nil
}

func openFile(path string, options url.Values) (*sql.DB, error) {
	file := url.URL{Scheme: "file", Path: path, RawQuery: options.Encode()}
	db, err := sql.Open("sqlite", file.String())
	if err != nil {
		return nil, fmt.Errorf("open state database: %w", err)
	}
	db.SetMaxOpenConns(1) // one writer; readers wait
	return db, nil
}

type scan = func(columns ...any) error

func each(ctx context.Context, db *sql.DB, read func(scan) error, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// identify returns nil for a database of this program and version, and for an empty one.
func identify(db *sql.DB, path string) (fresh bool, err error) {
	var application, version, tables int
	err = errors.Join(
		db.QueryRow("PRAGMA application_id").Scan(&application),
		db.QueryRow("PRAGMA user_version").Scan(&version),
		db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables),
	)
	fresh = version == 0 && application == 0 && tables == 0
	switch {
	case err != nil:
		return false, fmt.Errorf("read state version: %w", err)
	case fresh:
		return true, nil
	case application != applicationID:
		return false, &VersionError{Path: path, Known: schemaVersion}
	case version != schemaVersion:
		return false, &VersionError{Path: path, Found: version, Known: schemaVersion}
	}
	return false, nil
}

func create(db *sql.DB) error {
	tables := fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", schema, applicationID, schemaVersion)
	// The first two are stored in the file and must be set before the first table exists.
	for _, statements := range []string{"PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA journal_mode = WAL", tables} {
		if _, err := db.Exec(statements); err != nil {
			return fmt.Errorf("create state database: %w", err)
		}
	}
	return nil
}

// check looks for damage at the start, when a person may notice, and not at the first write that hits
// it.
func check(db *sql.DB, path string) error {
	// A copy made by other tools may have lost the mode.
	if _, err := db.Exec("PRAGMA journal_mode = WAL"); err != nil {
		return fmt.Errorf("set journal mode: %w", err)
	}
	var found string
	if err := db.QueryRow("PRAGMA quick_check(1)").Scan(&found); err != nil {
		return fmt.Errorf("check state database: %w", err)
	}
	if found != "ok" {
		return &DamagedError{Path: path, Err: errors.New(strings.Join(strings.Fields(found), " "))}
	}
	return nil
}

// judge turns SQLite's errors for a damaged file into a DamagedError, which says what to do.
func judge(path string, err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff { // the other bits are details
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB,
			// Our statements never change: they fail only if the file is not what was written.
			sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG:
			return &DamagedError{Path: path, Err: err}
		}
	}
	return err
}

// rescued are the tables that are copied from a damaged database, and their sort keys. Cursors are not
// copied: a lost session is found again only if its transcript is read from the start.
var rescued = []struct{ table, key string }{
	{"session", "agent, id"}, {"value", "key"}, {"delivery", "id, channel"}, {"history", "seq"},
}

// mostRescued bounds how many rows of a table are read: a damaged tree may be endless.
const mostRescued = 1_000_000

// moveAside renames the database, and the files beside it. It returns the new path.
func moveAside(dir, why string) (aside string, err error) {
	path := filepath.Join(dir, databaseName)
	aside = path + "." + why + "-" + time.Now().UTC().Format("20060102T150405.000000000Z")
	for _, beside := range []string{"-shm", "-wal", ""} { // the database last: then it starts again after an interruption
		if err := os.Rename(path+beside, aside+beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("move it aside: %w", err)
		}
	}
	return aside, nil
}

// rescue moves a damaged database aside and creates a new one with the rows that can still be read. It
// returns a text for people.
func rescue(dir string, log *slog.Logger, damaged *DamagedError) (found string, err error) {
	aside, err := moveAside(dir, "damaged")
	if err != nil {
		return "", errors.Join(damaged, err)
	}
	db, err := openDatabase(dir)
	if err != nil {
		return "", err
	}
	kept, err := salvage(db, aside)
	if err = errors.Join(err, db.Close()); err != nil {
		return "", fmt.Errorf("take over what is left of %s: %w", aside, err)
	}
	log.Error("the state was damaged: it was moved aside, and what can be read of it was kept",
		"err", damaged.Err, "moved_to", aside, "sessions_kept", kept["session"], "history_kept", kept["history"])
	return fmt.Sprintf("the state was damaged (%v): it was moved to %s; %d sessions of it were kept, others are found again in the transcripts",
		damaged.Err, aside, kept["session"]), nil
}

// salvage copies the readable rows, from both ends of each table up to the damage, and counts them.
func salvage(to *sql.DB, aside string) (map[string]int64, error) {
	from, err := openFile(aside, url.Values{"_pragma": {"query_only(1)"}})
	if err != nil {
		return nil, err
	}
	defer from.Close()
	kept := make(map[string]int64)
	for _, r := range rescued {
		backward := strings.ReplaceAll(r.key, ",", " DESC,") + " DESC"
		for _, order := range []string{r.key, backward} {
			n, err := copyRows(to, from, r.table, order)
			kept[r.table] += n
			if err != nil {
				return kept, err
			}
		}
	}
	return kept, nil
}

// copyRows copies rows until one cannot be read. Only errors of the target database are returned.
func copyRows(to, from *sql.DB, table, order string) (kept int64, err error) {
	rows, damage := from.Query(fmt.Sprintf("SELECT * FROM %s ORDER BY %s LIMIT %d", table, order, mostRescued))
	if damage != nil {
		return 0, nil
	}
	defer rows.Close()
	columns, damage := rows.Columns()
	if damage != nil || len(columns) == 0 {
		return 0, nil
	}
	tx, err := to.Begin()
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	insert, err := tx.Prepare(fmt.Sprintf("INSERT OR IGNORE INTO %s (%s) VALUES (?%s)",
		table, strings.Join(columns, ", "), strings.Repeat(", ?", len(columns)-1)))
	if err != nil {
		return 0, nil // it is no longer one of our tables
	}
	row, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	for rows.Next() && rows.Scan(into...) == nil {
		result, err := insert.Exec(row...)
		if err != nil {
			continue // a bad value
		}
		n, _ := result.RowsAffected() // SQLite always supports it
		kept += n
	}
	return kept, tx.Commit()
}
