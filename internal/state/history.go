package state

import (
	"context"
	"database/sql"
	"encoding/json"
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

const (
	// historyPage is how many lines are read at a time: the database has one connection, and a slow
	// reader must not hold it.
	historyPage = 500

	// pruneStep is how many lines are deleted at a time, for the same reason.
	pruneStep = 500

	// lineCost is the size of a line besides its data: its other columns and its entries in three
	// trees.
	lineCost = 200

	// leastBudget is how much history is appended between two prunings at least.
	leastBudget = 256 << 10
)

// Entry is one line of the history: what was decided or done, when, and why.
type Entry struct {
	At   time.Time
	Key  resume.Key // zero: about no session
	Kind string
	Data json.RawMessage
}

// Filter selects lines of the history. The zero Filter selects all.
type Filter struct {
	Since time.Time  // zero: from the beginning
	Key   resume.Key // zero: all sessions
	Own   bool       // only lines about the daemon itself
	Last  int        // only the newest ones, at most this many; 0: all
}

// AppendHistory queues a line. If the disk fails for long, the oldest queued lines are dropped: a
// history is not worth the memory.
func (s *Store) AppendHistory(e Entry) {
	data := string(e.Data)
	s.mu.Lock()
	s.queue.append(op{
		key:  "history of " + e.Key.String(),
		stmt: "INSERT INTO history (at, agent, id, kind, data) VALUES (?, ?, ?, ?, ?)",
		args: given(millis(e.At), e.Key.Agent, e.Key.ID, e.Kind, data),
	})
	s.appended += int64(len(data)) + lineCost
	overdue := s.budget > 0 && s.appended > s.budget
	s.mu.Unlock()
	s.queuedSome.Send()
	if overdue {
		s.grown.Send()
	}
}

// Grown receives a value when so much history was appended since the last pruning that its bound may be
// exceeded: to check the bound once an hour is not enough.
func (s *Store) Grown() <-chan struct{} { return s.grown }

// History returns the lines that the filter selects, in the order in which they were appended. It ends
// at the first error.
func (s *Store) History(ctx context.Context, f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		_ = s.Sync(ctx) // its error is logged; what is on disk is still shown
		s.Reader.History(ctx, f)(yield)
	}
}

// HistoryKeys returns the sessions in the history.
func (s *Store) HistoryKeys(ctx context.Context) ([]resume.Key, error) {
	_ = s.Sync(ctx)
	return s.Reader.HistoryKeys(ctx)
}

// Prune removes history older than keep, then the oldest lines above maxBytes; cursors of files that
// have been missing for longer than keep; and old finished notices. 0 means no bound.
func (s *Store) Prune(ctx context.Context, keep time.Duration, maxBytes int64) error {
	now := time.Now()
	s.mu.Lock()
	s.appended, s.budget = 0, 0
	if maxBytes > 0 {
		s.budget = max(leastBudget, maxBytes/8)
	}
	s.mu.Unlock()
	s.pruneDeliveries(now.Add(-doneFor))
	if keep > 0 {
		const old = "SELECT seq FROM history WHERE at < ? LIMIT ?"
		if err := s.deleteHistory(ctx, old, now.Add(-keep).UnixMilli()); err != nil {
			return err
		}
		if err := s.pruneCursors(ctx, keep, now); err != nil {
			return err
		}
	}
	if maxBytes > 0 {
		if err := s.pruneToSize(ctx, maxBytes); err != nil {
			return err
		}
	}
	// Give the free pages back to the file system.
	if _, err := s.db.ExecContext(ctx, "PRAGMA incremental_vacuum"); err != nil {
		return fmt.Errorf("shrink state database: %w", judge(s.Path(), err))
	}
	return nil
}

func (s *Store) pruneToSize(ctx context.Context, maxBytes int64) error {
	// Usually the whole database is smaller than that, and the history need not be measured.
	const size = `SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size`
	var used int64
	if err := s.db.QueryRowContext(ctx, size).Scan(&used); err != nil {
		return fmt.Errorf("measure state database: %w", judge(s.Path(), err))
	}
	if used <= maxBytes {
		return nil
	}
	const overflowing = `SELECT seq FROM (
			SELECT seq, sum(octet_length(data) + ?) OVER (ORDER BY seq DESC) AS total FROM history
		) WHERE total > ? ORDER BY seq DESC LIMIT 1`
	var last int64
	err := s.db.QueryRowContext(ctx, overflowing, lineCost, maxBytes).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("measure history: %w", judge(s.Path(), err))
	}
	return s.deleteHistory(ctx, "SELECT seq FROM history WHERE seq <= ? LIMIT ?", last)
}

// deleteHistory deletes the lines that the query selects, in small steps, so that other users of the
// connection do not wait long.
func (s *Store) deleteHistory(ctx context.Context, query string, bound int64) error {
	for {
		res, err := s.db.ExecContext(ctx, "DELETE FROM history WHERE seq IN ("+query+")", bound, pruneStep)
		if err != nil {
			return fmt.Errorf("prune history: %w", judge(s.Path(), err))
		}
		if n, err := res.RowsAffected(); err != nil || n < pruneStep {
			return err
		}
	}
}

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
