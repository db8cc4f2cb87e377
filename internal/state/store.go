// Package state stores sessions, claims, cursors and undelivered notices so that a crash loses none.
// All of it is one SQLite database in a directory that one daemon locks.
//
// Writes are queued and never block. They reach the disk in the order in which they were queued, all
// queued ones in one transaction. Sync waits for what must be on disk before something else may happen.
package state

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"resumed/internal/atomicfile"
	"resumed/internal/lock"
	"resumed/internal/wake"
)

// Store is the state of one daemon. Its methods may be called from several goroutines at once.
type Store struct {
	Reader
	log  *slog.Logger
	lock *os.File
	made os.FileInfo // the database file that was opened

	queuedSome wake.Signal   // something is queued
	grown      wake.Signal   // the history has grown enough to be pruned
	lost       chan struct{} // closed by lose
	lose       func()

	// writing is locked during a transaction, so that batches reach the disk in the order in which they
	// were taken. It is locked before mu.
	writing sync.Mutex

	// mu guards everything that follows, and is never locked during disk I/O.
	mu         sync.Mutex
	queue      queue
	found      []string         // problems with what the last daemon stored, for people
	err        error            // of the last write
	appended   int64            // bytes of history since the last pruning
	budget     int64            // when appended is above this, the history is pruned; 0: no bound
	refused    map[string]error // records that cannot be stored, by the key of their op
	values     map[string][]byte
	deliveries map[string]delivery // by deliveryKey
}

// Open locks the state directory for this process and opens the database in it; both are created if
// missing. The error is a *HeldError if another daemon has the directory, and a *VersionError if the
// database is not one that this program knows. A damaged one is moved aside, and its readable rows are
// copied: Found reports it.
func Open(dir string, log *slog.Logger) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find state directory: %w", err)
	}
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	lock, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	log = log.With("component", "state")
	s, err := openStore(dir, lock, log)
	if damaged, ok := errors.AsType[*DamagedError](err); ok {
		var found string
		if found, err = rescue(dir, log, damaged); err == nil {
			s, err = openStore(dir, lock, log)
		}
		if err == nil {
			s.found = append(s.found, found)
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

func openStore(dir string, lock *os.File, log *slog.Logger) (*Store, error) {
	db, err := openDatabase(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		Reader: Reader{db, filepath.Join(dir, databaseName)}, log: log, lock: lock,
		queuedSome: wake.NewSignal(), grown: wake.NewSignal(), lost: make(chan struct{}),
		refused: make(map[string]error),
	}
	s.lose = sync.OnceFunc(func() { close(s.lost) })
	s.made, err = os.Stat(s.Path())
	if err := errors.Join(err, s.loadValues(), s.loadDeliveries()); err != nil {
		return nil, errors.Join(judge(s.Path(), err), db.Close())
	}
	return s, nil
}

// makeDir creates dir for its owner only. A service manager makes it readable by all unless it is
// configured otherwise.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create state directory: %w", err)
	}
	if err := atomicfile.SyncDir(filepath.Dir(dir)); err != nil { // otherwise a power failure may remove the new directory
		return fmt.Errorf("create state directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at state directory: %w", err)
	}
	if info.Mode().Perm() == 0o700 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("close state directory to others: %w", err)
	}
	return nil
}

// Close writes what is still queued, closes the database and unlocks the directory. Run must have
// returned.
func (s *Store) Close() error {
	return errors.Join(s.commit(), s.db.Close(), s.lock.Close())
}

const lockName = "resumed.lock"

// HeldError says that another daemon has locked the state directory.
type HeldError struct {
	Dir string
	PID int // 0: not known yet
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("another daemon holds %s", e.Dir)
	}
	return fmt.Sprintf("another daemon (pid %d) holds %s", e.PID, e.Dir)
}

// takeLock makes this process the only daemon of dir until the file is closed. The file is never
// removed: otherwise two daemons could lock two files of the same name.
func takeLock(dir string) (*os.File, error) {
	file, err := lock.Take(filepath.Join(dir, lockName))
	if held, ok := errors.AsType[*lock.HeldError](err); ok {
		return nil, &HeldError{Dir: dir, PID: held.PID}
	}
	return file, err
}
