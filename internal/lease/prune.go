package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/lock"
	"resumed/internal/regular"
)

// Prune removes what was left in the directories before a time and is of no use
// any more: notes, and locks whose holders died without removing them.
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
			case strings.HasSuffix(path, noteSuffix) && !leftSince(path, before):
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

// leftSince reports whether a note says that it was left since then. Its file
// may be older, as on a machine whose clock was set.
func leftSince(path string, before time.Time) bool {
	data, err := regular.Read(path)
	var n Note
	return err == nil && json.Unmarshal(data, &n) == nil && !n.At.Before(before)
}

// removeAbandoned removes a lock that nobody holds, in the way in which a holder
// does: while it is locked.
func removeAbandoned(path string) error {
	file, err := lock.Take(path)
	if err != nil {
		return nil // somebody holds it, or will come again
	}
	defer file.Close()
	if !current(file, path) {
		return nil
	}
	return remove(path)
}

// remove removes a file that another daemon may have removed just now.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
