package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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
