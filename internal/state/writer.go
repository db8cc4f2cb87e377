package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

const (
	// linger is how long a write may wait for company. Nothing is promised
	// before Sync, and a busy transcript moves its cursor many times a second:
	// a disk need not be woken for each.
	linger = 200 * time.Millisecond

	// retryEvery is how often a disk that refuses is asked again.
	retryEvery = time.Second
)

// Run writes what is queued until ctx ends, and what is queued then. Its error
// is that of the last write.
func (s *Store) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	armed := true // what an earlier life of the queue holds is written at once
	for {
		select {
		case <-ctx.Done():
			timer.Stop()
			return s.commit()
		case <-s.nudge:
			if !armed { // otherwise it goes with what waits already
				armed = true
				timer.Reset(linger)
			}
		case <-timer.C:
			armed = false
			if s.commit() != nil { // it is kept and logged there
				armed = true
				timer.Reset(retryEvery)
			}
		}
	}
}

// Sync returns nil when all that was queued before the call is on disk: then
// a claim may be acted on. On an error nothing may be started; what was queued
// stays queued and is tried again until something newer takes its place.
func (s *Store) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("write state: %w", context.Cause(ctx))
	}
	s.mu.Lock()
	target := s.queue.queued
	written := s.queue.written >= target
	s.mu.Unlock()
	if written {
		return nil
	}
	return s.commit()
}

// Err returns why the last write did not reach the disk, or nil where it did.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// enqueue never blocks on the disk.
func (s *Store) enqueue(o op) {
	s.mu.Lock()
	s.queue.put(o)
	s.mu.Unlock()
	s.wake()
}

func (s *Store) wake() {
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

// commit writes all that is queued in one transaction.
func (s *Store) commit() error {
	s.writing.Lock()
	defer s.writing.Unlock()

	s.mu.Lock()
	b := s.queue.take()
	s.mu.Unlock()
	if b.empty() {
		return nil
	}
	err := s.write(b)
	s.settle(b, err)
	return err
}

// settle records what became of a batch.
func (s *Store) settle(b batch, err error) {
	s.mu.Lock()
	before := s.err
	s.err = err
	if err != nil {
		s.queue.restore(b)
	} else {
		s.queue.written = b.upTo
	}
	dropped := s.queue.dropped
	if err == nil {
		s.queue.dropped = 0
	}
	s.mu.Unlock()

	// A disk that stays full is reported once, not every second.
	switch {
	case err != nil && (before == nil || before.Error() != err.Error()):
		s.log.Error("state cannot be written, nothing is resumed until it can", "err", err)
	case err == nil && before != nil:
		s.log.Info("state is written again", "history_lost", dropped)
	}
}

// errGone says that what is written is lost: no later daemon will find it.
var errGone = errors.New("the database was removed or replaced while it was in use: start the daemon again")

// gone reports whether the database has lost its name. SQLite would write on.
func (s *Store) gone() bool {
	now, err := os.Stat(s.path())
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, s.made)
}

func (s *Store) write(b batch) error {
	if s.gone() {
		return s.writeError(errGone)
	}
	// Not the caller's context: a cancelled one would roll back what others
	// wait for, and the driver pays a goroutine for each statement.
	tx, err := s.db.Begin()
	if err != nil {
		return s.writeError(err)
	}
	defer tx.Rollback()
	w := writer{store: s, tx: tx, stmts: make(map[string]*sql.Stmt)}
	for _, o := range b.ops {
		if err := w.exec(o); err != nil {
			return s.writeError(err)
		}
	}
	for _, o := range b.lines {
		if err := w.exec(o); err != nil {
			return s.writeError(err)
		}
	}
	if err := tx.Commit(); err != nil {
		return s.writeError(err)
	}
	return nil
}

func (s *Store) writeError(err error) error {
	return fmt.Errorf("write state: %w", judge(s.path(), err))
}

// writer writes the ops of one transaction.
type writer struct {
	store *Store
	tx    *sql.Tx
	stmts map[string]*sql.Stmt // closed with tx
}

func (w *writer) exec(o op) error {
	args, err := o.args()
	if err != nil {
		// No later try mends it, and it must not hold up the others.
		w.store.log.Error("record cannot be stored", "record", o.key, "err", err)
		return nil
	}
	stmt := w.stmts[o.stmt]
	if stmt == nil {
		if stmt, err = w.tx.Prepare(o.stmt); err != nil {
			return err
		}
		w.stmts[o.stmt] = stmt
	}
	_, err = stmt.Exec(args...)
	return err
}

// given returns args that need no making.
func given(args ...any) func() ([]any, error) {
	return func() ([]any, error) { return args, nil }
}
