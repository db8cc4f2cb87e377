package state

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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

// takeLock makes this process the one daemon of dir until the file is closed.
// The kernel lets go of the lock when the process dies, however it dies; the
// file itself stays, because removing it would let two daemons lock two files
// of one name.
func takeLock(dir string) (*os.File, error) {
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
