// Package lock locks a file for one process at a time, and says which process has it. The kernel
// releases the lock when that process ends, for whatever reason.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/regular"
)

// HeldError says that another process has locked the file.
type HeldError struct {
	PID int // 0: not known yet
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return "another process holds it"
	}
	return fmt.Sprintf("process %d holds it", e.PID)
}

// lastBreath is how long a lock may outlive its process: a command that was being started when the
// process was killed has its descriptors until exec.
var lastBreath = backoff.Policy{
	Strategy: backoff.Fixed, BaseDelay: 50 * time.Millisecond, MaxDelay: 50 * time.Millisecond, MaxRetries: 60,
}

// Take locks the file at path until it is closed; the file is created if missing. The error is a
// *HeldError if a living process has the lock. If that process has ended, Take waits a moment for the
// release.
func Take(path string) (file *os.File, err error) {
	try := func(context.Context) error {
		file, err = take(path)
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

func take(path string) (*os.File, error) {
	if err := regular.Check(path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = syscall.EINTR
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		err = sign(file)
	}
	if err == nil {
		return file, nil
	}
	defer file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, &HeldError{PID: holder(file)}
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// sign writes our pid, to be reported by other processes. A full disk must not prevent locking.
func sign(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	if errors.Is(err, syscall.ENOSPC) {
		return nil
	}
	return err
}

// Holder returns the living process that has signed the file; 0: none.
func Holder(path string) int {
	if regular.Check(path) != nil {
		return 0
	}
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	pid := holder(file)
	if pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return 0
	}
	return pid
}

func holder(file *os.File) int {
	text := make([]byte, 32)
	n, _ := file.ReadAt(text, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return 0
	}
	return pid
}
