package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"resumed/internal/resume"
)

const (
	// batchDelay is how long a write waits for others. Nothing is promised before Sync, and a busy
	// transcript moves its cursor many times a second: not each needs its own disk write. A start moves
	// thousands of cursors within a second, and an outage stops as many sessions, which change again a
	// moment later.
	batchDelay = 200 * time.Millisecond

	// retryEvery is how often a failed write is tried again.
	retryEvery = time.Second

	// checkEvery is how often Run checks that the database still exists, in case there are no file
	// system events: a daemon that has nothing to write would not notice.
	checkEvery = time.Minute
)

// maxWaitingLines bounds the memory that is used while the disk is full: everything else in the queue
// is bounded because newer ops replace older ones.
const maxWaitingLines = 10_000

type op struct {
	key  string // a newer op replaces an older one with the same key
	stmt string
	args func() ([]any, error) // called once, when the op is written
}

// batch is written in one transaction. Its inner order does not matter: it only has to contain
// everything that was queued before its newest op.
type batch struct {
	ops   map[string]op
	lines []op // of the history: they do not replace each other
}

// queue is the batch that waits to be written.
type queue struct {
	batch
	dropped int // lines that were dropped for lack of room
}

func (q *queue) put(o op) {
	if q.ops == nil {
		q.ops = make(map[string]op)
	}
	q.ops[o.key] = o
}

func (q *queue) append(o op) {
	q.lines = append(q.lines, o)
	q.trim()
}

func (q *queue) trim() {
	if over := len(q.lines) - maxWaitingLines; over > 0 {
		q.dropped += over
		q.lines = append([]op(nil), q.lines[over:]...)
	}
}

func (q *queue) take() batch {
	b := q.batch
	q.batch = batch{}
	return b
}

// restore puts back a batch that could not be written. What was queued since is newer.
func (q *queue) restore(b batch) {
	if b.ops != nil {
		maps.Copy(b.ops, q.ops)
		q.ops = b.ops
	}
	q.lines = append(b.lines, q.lines...)
	q.trim()
}

// Run writes what is queued until ctx is done, and once more then. It returns the error of the last
// write.
func (s *Store) Run(ctx context.Context) error {
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	timer := time.NewTimer(0)
	armed := true // what was queued before Run is written at once
	for {
		select {
		case <-ctx.Done():
			timer.Stop()
			return s.commit()
		case <-s.queuedSome:
			if !armed { // otherwise it is written with what is already queued
				armed = true
				timer.Reset(batchDelay)
			}
		case <-check.C:
			s.Check()
		case <-timer.C:
			if armed = s.commit() != nil; armed { // commit stores and logs the error
				timer.Reset(retryEvery)
			}
		}
	}
}

// Sync returns nil when everything that was queued before the call is on disk: then a claim may be
// acted on. After an error nothing may be started; what was queued stays queued and is tried again
// until something newer replaces it.
//
// A record that cannot be written at all does not delay the others. It is an error only for a caller
// that passes its session.
func (s *Store) Sync(ctx context.Context, sessions ...resume.Key) error {
	if ctx.Err() != nil {
		return fmt.Errorf("write state: %w", context.Cause(ctx))
	}
	if err := s.commit(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range sessions {
		if err := s.refused[sessionKey(key)]; err != nil {
			return err
		}
	}
	return nil
}

// Err returns why the last write failed, or which record cannot be stored; nil if everything is on
// disk.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || len(s.refused) == 0 {
		return s.err
	}
	return s.refused[slices.Min(slices.Collect(maps.Keys(s.refused)))]
}

// Found returns problems with what the last daemon stored, for people.
func (s *Store) Found() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.found)
}

func (s *Store) enqueue(o op) {
	s.mu.Lock()
	s.queue.put(o)
	s.mu.Unlock()
	s.queuedSome.Send()
}

// commit writes everything that is queued in one transaction. What another call is writing is on disk,
// or queued again, before it begins.
func (s *Store) commit() error {
	s.writing.Lock()
	defer s.writing.Unlock()

	s.mu.Lock()
	b := s.queue.take()
	s.mu.Unlock()
	if len(b.ops) == 0 && len(b.lines) == 0 {
		return nil
	}
	err := s.write(b)
	s.conclude(b, err)
	return err
}

func (s *Store) conclude(b batch, err error) {
	s.mu.Lock()
	before := s.err
	s.err = err
	if errors.Is(err, errGone) {
		s.lose()
	}
	dropped := s.queue.dropped
	if err != nil {
		s.queue.restore(b)
	} else {
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

// Path returns the path of the database.
func (s *Store) Path() string { return s.path }

// Lost is closed when the database was found to be removed or replaced.
func (s *Store) Lost() <-chan struct{} { return s.lost }

// Check checks whether the database was removed or replaced.
func (s *Store) Check() {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.gone() {
		s.conclude(batch{}, s.Gone())
	}
}

// errGone says that writes are lost: no later daemon would find them.
var errGone = errors.New("was removed or replaced while the daemon ran: it ends when what it resumed is done," +
	" and when it is started again it finds in the transcripts what was interrupted")

// Gone returns the error for people after Lost is closed.
func (s *Store) Gone() error { return fmt.Errorf("%s %w", s.Path(), errGone) }

// gone reports whether the database was removed or replaced. SQLite would go on writing to the old
// file.
func (s *Store) gone() bool {
	now, err := os.Stat(s.Path())
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, s.made)
}

func (s *Store) write(b batch) error {
	if s.gone() {
		return s.Gone()
	}
	if err := s.transact(b); err != nil {
		return fmt.Errorf("write state: %w", judge(s.Path(), err))
	}
	return nil
}

func (s *Store) transact(b batch) error {
	// Not the caller's context: if it is cancelled, it would roll back writes of other callers, and the
	// driver needs a goroutine for each statement.
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	stmts := make(map[string]*sql.Stmt) // by their text; closed with tx
	run := func(o op) error {
		args, err := o.args()
		if s.refuse(o.key, err) {
			return nil // a retry would fail too, and must not delay the others
		}
		stmt := stmts[o.stmt]
		if stmt == nil {
			if stmt, err = tx.Prepare(o.stmt); err != nil {
				return err
			}
			stmts[o.stmt] = stmt
		}
		_, err = stmt.Exec(args...)
		return err
	}
	// Sorted by key: otherwise each write would touch another page.
	for _, key := range slices.Sorted(maps.Keys(b.ops)) {
		if err := run(b.ops[key]); err != nil {
			return err
		}
	}
	for _, o := range b.lines {
		if err := run(o); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// refuse records whether a record can be stored at all. It returns true if it cannot.
func (s *Store) refuse(key string, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.refused, key)
		return false
	}
	err = fmt.Errorf("%s cannot be stored: %w", strings.ReplaceAll(key, "\x00", " "), err)
	if was := s.refused[key]; was == nil || was.Error() != err.Error() {
		s.log.Error("a record cannot be stored, and nothing is done that needs it", "err", err)
	}
	s.refused[key] = err
	return true
}

func given(args ...any) func() ([]any, error) {
	return func() ([]any, error) { return args, nil }
}
