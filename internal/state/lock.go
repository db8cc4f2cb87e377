package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"resumed/internal/backoff"
)

const lockName = "resumed.lock"

// HeldError says that another daemon holds the state directory.
type HeldError struct {
	Dir string
	PID int // 0: the holder has not said yet
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("another daemon holds %s", e.Dir)
	}
	return fmt.Sprintf("another daemon (pid %d) holds %s", e.PID, e.Dir)
}

// lastBreath is how long a lock outlives its daemon at most: a command that
// was being started when the daemon was killed holds it until it is a program
// of its own.
var lastBreath = backoff.Policy{
	Strategy: backoff.Fixed, BaseDelay: 50 * time.Millisecond, MaxDelay: 50 * time.Millisecond, MaxRetries: 60,
}

// takeLock makes this process the one daemon of dir until the file is closed.
// The lock of a dead daemon is waited for a moment.
func takeLock(dir string) (file *os.File, err error) {
	try := func(context.Context) error {
		file, err = tryLock(dir)
		return err
	}
	_ = backoff.Retry(context.Background(), lastBreath, try, backoff.Options{
		Retryable: func(err error) bool {
			held, ok := errors.AsType[*HeldError](err)
			return ok && held.PID != 0 && errors.Is(syscall.Kill(held.PID, 0), syscall.ESRCH)
		},
	})
	return file, err
}

// tryLock takes the lock if it is free. The kernel lets go of it when the
// process dies, however it dies; the file itself stays, because removing it
// would let two daemons lock two files of one name.
func tryLock(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := flock(file); err != nil {
		defer file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &HeldError{Dir: dir, PID: readPID(file)}
		}
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	if err := writePID(file); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func flock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// writePID is a courtesy to whoever comes second. A full disk must not keep
// the daemon from starting, for then it could not even say that it is full.
func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("empty lock file: %w", err)
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("write lock file: %w", err)
	}
	return nil
}

func readPID(file *os.File) int {
	text, err := io.ReadAll(io.LimitReader(file, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
