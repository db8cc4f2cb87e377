// Package state stores sessions, claims, cursors and undelivered notices so that a crash loses none.
// All of it is one SQLite database in a directory that one daemon locks.
//
// Writes are queued and never block. They reach the disk in the order in which they were queued, all
// queued ones in one transaction. Sync waits for what must be on disk before something else may happen.
package state

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"resumed/internal/atomicfile"
	"resumed/internal/fsevents"
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
// database is of a newer version or of another program. One of an older version is moved aside, and a new one
// begins. A damaged one is moved aside, and its readable rows are copied: Found reports it.
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
	if other, ok := errors.AsType[*VersionError](err); ok && other.older() {
		var aside string
		if aside, err = moveAside(dir, "older"); err == nil {
			log.Warn("the state is of an older version: it was moved aside, and interruptions are found again in the transcripts",
				"version", other.Found, "moved_to", aside)
			s, err = openStore(dir, lock, log)
		}
	}
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

// Alarm reports to people that the stored state was damaged or removed: otherwise they would only
// notice that a session was not resumed. If it was removed, the daemon ends, so that the next one can
// store its state again. The next daemon would not know about running resumes, so this one ends only
// when none runs.
type Alarm struct {
	Store    *Store
	Notifier interface {
		TellStateError(text string)
		TellStateLost(ctx context.Context, text string)
	}
	Running func(context.Context) (resumes int, err error)
}

// lostNoticeTimeout is how long the channels may take to report why the daemon ends: meanwhile nothing
// is resumed.
const lostNoticeTimeout = 10 * time.Second

// Run watches the stored state until ctx is done. It returns an error when the state is gone.
func (a Alarm) Run(ctx context.Context) error {
	if found := a.Store.Found(); len(found) > 0 {
		a.Notifier.TellStateError(strings.Join(found, "\n"))
	}
	var events <-chan struct{} // nil: the store checks at intervals by itself
	file, err := fsevents.New()
	if err == nil {
		defer func() { _ = file.Close() }()
		events = file.Ready()
		// The file itself, since its directory has events all the time; and the directory above,
		// since a directory that is moved away causes no event in itself.
		_ = file.Add(a.Store.Path())
		_ = file.Add(filepath.Dir(filepath.Dir(a.Store.Path())))
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-events:
			_, _ = file.Take(math.MaxInt)
			a.Store.Check()
		case <-a.Store.Lost():
			sending, done := context.WithTimeout(ctx, lostNoticeTimeout)
			defer done()
			a.Notifier.TellStateLost(sending, a.Store.Gone().Error())
			return a.awaitResumes(ctx)
		}
	}
}

func (a Alarm) awaitResumes(ctx context.Context) error {
	for {
		if n, err := a.Running(ctx); err != nil || n == 0 {
			return a.Store.Gone()
		}
		if !wake.Sleep(ctx, time.Second) {
			return nil
		}
	}
}
