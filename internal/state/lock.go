package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"resumed/internal/lock"
)

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
