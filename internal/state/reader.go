package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"resumed/internal/resume"
)

// History returns the lines that the filter selects, in the order in which they were appended. It ends
// at the first error.
func (r *Reader) History(ctx context.Context, f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var last int64
		if f.Last > 0 {
			last = r.before(ctx, f)
		}
		for {
			page, err := r.page(ctx, f, &last)
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("read history: %w", judge(r.path, err)))
				return
			}
			if len(page) < historyPage {
				return
			}
		}
	}
}

// before returns the last line before the newest f.Last ones. If it fails, reading the lines returns
// the error.
func (r *Reader) before(ctx context.Context, f Filter) (seq int64) {
	where, args := f.where(0)
	_ = r.db.QueryRowContext(ctx, "SELECT seq FROM history"+where+" ORDER BY seq DESC LIMIT 1 OFFSET ?", append(args, f.Last)...).Scan(&seq)
	return seq
}

func (f Filter) where(last int64) (string, []any) {
	if f.Key == (resume.Key{}) && !f.Own {
		return " WHERE seq > ? AND at >= ?", []any{last, millis(f.Since)}
	}
	return " WHERE seq > ? AND at >= ? AND agent = ? AND id = ?", []any{last, millis(f.Since), f.Key.Agent, f.Key.ID}
}

func (r *Reader) page(ctx context.Context, f Filter, last *int64) ([]Entry, error) {
	where, args := f.where(*last)
	var page []Entry
	err := each(ctx, r.db, func(scan scan) error {
		var e Entry
		var at int64
		var data string
		if err := scan(last, &at, &e.Key.Agent, &e.Key.ID, &e.Kind, &data); err != nil {
			return err
		}
		e.At, e.Data = fromMillis(at), []byte(data)
		page = append(page, e)
		return nil
	}, "SELECT seq, at, agent, id, kind, data FROM history"+where+" ORDER BY seq LIMIT ?", append(args, historyPage)...)
	return page, err
}

// HistoryKeys returns the sessions in the history.
func (r *Reader) HistoryKeys(ctx context.Context) ([]resume.Key, error) {
	var all []resume.Key
	err := each(ctx, r.db, func(scan scan) error {
		var key resume.Key
		err := scan(&key.Agent, &key.ID)
		all = append(all, key)
		return err
	}, "SELECT DISTINCT agent, id FROM history WHERE id <> '' ORDER BY agent, id")
	if err != nil {
		return nil, fmt.Errorf("read history: %w", judge(r.path, err))
	}
	return all, nil
}

// Reader reads a state directory without locking it, while no daemon runs. It changes nothing, and a
// daemon may start meanwhile.
type Reader struct {
	db   *sql.DB
	path string
}

// OpenReader opens the database in dir. The error is fs.ErrNotExist if no daemon has ever run there.
func OpenReader(dir string) (*Reader, error) {
	path := filepath.Join(dir, databaseName)
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open state database: %w", err)
	}
	if err := checkFiles(path); err != nil {
		return nil, err
	}
	db, err := openFile(path, url.Values{"mode": {"ro"}, "_pragma": {busyTimeout, "query_only(1)"}})
	if err != nil {
		return nil, err
	}
	switch fresh, err := identify(db, path); {
	case err != nil:
		return nil, errors.Join(judge(path, err), db.Close())
	case fresh: // a daemon is creating it
		return nil, errors.Join(fmt.Errorf("open state database: %w", fs.ErrNotExist), db.Close())
	}
	return &Reader{db, path}, nil
}

// Close closes the database.
func (r *Reader) Close() error { return r.db.Close() }

// Sessions returns the stored sessions. It skips those that cannot be read: a daemon reports them.
func (r *Reader) Sessions() ([]resume.Session, error) {
	var snap Snapshot
	if err := r.loadSessions(&snap); err != nil {
		return nil, fmt.Errorf("load sessions: %w", judge(r.path, err))
	}
	return snap.Sessions, nil
}

// Recoveries returns the durations of past outages.
func (r *Reader) Recoveries(ctx context.Context) (resume.Recoveries, error) {
	var data []byte
	err := r.db.QueryRowContext(ctx, "SELECT data FROM value WHERE key = ?", recoveriesKey).Scan(&data)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("load recoveries: %w", judge(r.path, err))
	}
	return readRecoveries(data), nil
}

// LastWritten returns when a daemon last wrote to the state in dir; zero: never.
func LastWritten(dir string) time.Time {
	var last time.Time
	for _, name := range []string{databaseName, databaseName + "-wal"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// Holding is how much of one kind the database stores.
type Holding struct {
	What  string // sessions | cursors | history | notices
	Count int
	Bytes int64 // of the data only, without the overhead of the database
}

// Holdings returns how much the database stores of each kind.
func (r *Reader) Holdings(ctx context.Context) ([]Holding, error) {
	var all []Holding
	for _, kind := range []struct{ what, size, table string }{
		{"sessions", "octet_length(data)", "session"},
		{"cursors", "octet_length(path) + octet_length(data)", "cursor"},
		{"history", "octet_length(data)", "history"},
		{"notices", "octet_length(coalesce(payload, ''))", "delivery"},
	} {
		h := Holding{What: kind.what}
		query := "SELECT count(*), coalesce(sum(" + kind.size + "), 0) FROM " + kind.table
		if err := r.db.QueryRowContext(ctx, query).Scan(&h.Count, &h.Bytes); err != nil {
			return nil, fmt.Errorf("measure %s: %w", kind.what, judge(r.path, err))
		}
		all = append(all, h)
	}
	return all, nil
}
