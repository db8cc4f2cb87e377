package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"resumed/internal/lock"
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
// The file itself stays, because removing it would let two daemons lock two
// files of one name.
func takeLock(dir string) (*os.File, error) {
	file, err := lock.Take(filepath.Join(dir, lockName))
	if held, ok := errors.AsType[*lock.HeldError](err); ok {
		return nil, &HeldError{Dir: dir, PID: held.PID}
	}
	return file, err
}
