package lease

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/lock"
)

// Prune removes files in the directories that are older than a time: notes, and locks
// that a dead holder did not remove.
func Prune(dirs []string, before time.Time) error {
	var failed []error
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil || !info.ModTime().Before(before) {
				continue
			}
			path := filepath.Join(dir, entry.Name())
			switch {
			case strings.HasSuffix(path, noteSuffix) && readNote(path).At.Before(before): // its file may be older, as after the clock was set
				failed = append(failed, remove(path))
			case strings.HasSuffix(path, suffix):
				failed = append(failed, removeAbandoned(path))
			}
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("remove old leases: %w", err)
	}
	return nil
}

// removeAbandoned removes a lock without a holder, in the same way as a holder does: while it
// is locked.
func removeAbandoned(path string) error {
	file, err := lock.Take(path)
	if err != nil {
		return nil // it is held, or it is tried again later
	}
	defer file.Close()
	if !current(file, path) {
		return nil
	}
	return remove(path)
}

// remove removes a file that another daemon may have just removed.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
