package state

import (
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
)

// rescued are the tables that are copied from a damaged database, and their sort keys. Cursors are not
// copied: a lost session is found again only if its transcript is read from the start.
var rescued = []struct{ table, key string }{
	{"session", "agent, id"}, {"value", "key"}, {"delivery", "id, channel"}, {"history", "seq"},
}

// mostRescued bounds how many rows of a table are read: a damaged tree may be endless.
const mostRescued = 1_000_000

// rescue moves a damaged database aside and creates a new one with the rows that can still be read. It
// returns a text for people.
func rescue(dir string, log *slog.Logger, damaged *DamagedError) (found string, err error) {
	path := filepath.Join(dir, databaseName)
	aside := path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000Z")
	for _, beside := range []string{"-shm", "-wal", ""} { // the database last: then an interrupted rescue starts again
		if err := os.Rename(path+beside, aside+beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", errors.Join(damaged, fmt.Errorf("move it aside: %w", err))
		}
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
