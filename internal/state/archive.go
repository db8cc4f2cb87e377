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

	"resumed/internal/resume"
)

// archive reads what a database keeps.
type archive struct {
	db   *sql.DB
	path string
}

func (a archive) lines(ctx context.Context, f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var last int64
		if f.Last > 0 {
			last = a.before(ctx, f)
		}
		for {
			page, err := a.page(ctx, f, &last)
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("read history: %w", judge(a.path, err)))
				return
			}
			if len(page) < historyPage {
				return
			}
		}
	}
}

// before returns the line before the newest ones that are wanted. Where it cannot be
// found, reading the lines says why.
func (a archive) before(ctx context.Context, f Filter) (seq int64) {
	where, args := f.where(0)
	_ = a.db.QueryRowContext(ctx, "SELECT seq FROM history"+where+" ORDER BY seq DESC LIMIT 1 OFFSET ?", append(args, f.Last)...).Scan(&seq)
	return seq
}

// where returns which lines after one the filter wants.
func (f Filter) where(last int64) (string, []any) {
	if f.Key == (resume.Key{}) && !f.Own {
		return " WHERE seq > ? AND at >= ?", []any{last, millis(f.Since)}
	}
	return " WHERE seq > ? AND at >= ? AND agent = ? AND id = ?", []any{last, millis(f.Since), f.Key.Agent, f.Key.ID}
}

// page reads the lines that follow line last, and moves last on.
func (a archive) page(ctx context.Context, f Filter, last *int64) ([]Entry, error) {
	where, args := f.where(*last)
	rows, err := a.db.QueryContext(ctx, "SELECT seq, at, agent, id, kind, data FROM history"+where+" ORDER BY seq LIMIT ?", append(args, historyPage)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var page []Entry
	for rows.Next() {
		var e Entry
		var at int64
		var data string
		if err := rows.Scan(last, &at, &e.Key.Agent, &e.Key.ID, &e.Kind, &data); err != nil {
			return page, err
		}
		e.At, e.Data = fromMillis(at), []byte(data)
		page = append(page, e)
	}
	return page, rows.Err()
}

func (a archive) keys(ctx context.Context) ([]resume.Key, error) {
	rows, err := a.db.QueryContext(ctx, "SELECT DISTINCT agent, id FROM history WHERE id <> '' ORDER BY agent, id")
	if err != nil {
		return nil, fmt.Errorf("read history: %w", judge(a.path, err))
	}
	defer rows.Close()
	var all []resume.Key
	for rows.Next() {
		var key resume.Key
		if err := rows.Scan(&key.Agent, &key.ID); err != nil {
			return nil, fmt.Errorf("read history: %w", judge(a.path, err))
		}
		all = append(all, key)
	}
	return all, rows.Err()
}

// Reader reads a state directory without holding it: for people who ask while
// no daemon runs. It changes nothing, and a daemon may start meanwhile.
type Reader struct{ archive }

// OpenReader opens the database in dir. The error is fs.ErrNotExist where no
// daemon has ever run there.
func OpenReader(dir string) (*Reader, error) {
	path := filepath.Join(dir, databaseName)
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open state database: %w", err)
	}
	if err := checkFiles(path); err != nil {
		return nil, err
	}
	file := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{
		"mode":    {"ro"},
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", busyMillis), "query_only(1)"},
	}.Encode()}
	db, err := sql.Open("sqlite", file.String())
	if err != nil {
		return nil, fmt.Errorf("open state database: %w", err)
	}
	db.SetMaxOpenConns(1)
	switch fresh, err := identify(db, path); {
	case err != nil:
		return nil, errors.Join(judge(path, err), db.Close())
	case fresh: // a daemon makes it just now
		return nil, errors.Join(fmt.Errorf("open state database: %w", fs.ErrNotExist), db.Close())
	}
	return &Reader{archive{db, path}}, nil
}

// Close closes the database.
func (r *Reader) Close() error { return r.db.Close() }

// History returns the lines that the filter wants, in the order in which they
// were appended. It ends at the first error.
func (r *Reader) History(ctx context.Context, f Filter) iter.Seq2[Entry, error] {
	return r.lines(ctx, f)
}

// Sessions returns the sessions that are kept. One that cannot be read is
// passed over: a daemon reports it.
func (r *Reader) Sessions() ([]resume.Session, error) {
	var snap Snapshot
	if err := r.loadSessions(&snap); err != nil {
		return nil, fmt.Errorf("load sessions: %w", judge(r.path, err))
	}
	return snap.Sessions, nil
}

// Recoveries returns what outages have taught.
func (r *Reader) Recoveries(ctx context.Context) (resume.Recoveries, error) {
	var data []byte
	err := r.db.QueryRowContext(ctx, "SELECT data FROM value WHERE key = ?", recoveriesKey).Scan(&data)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("load recoveries: %w", judge(r.path, err))
	}
	return readRecoveries(data), nil
}

// HistoryKeys returns the sessions that the history knows.
func (r *Reader) HistoryKeys(ctx context.Context) ([]resume.Key, error) { return r.keys(ctx) }
