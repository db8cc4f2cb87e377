package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// CheckDir returns nil for a directory that one can work in, else an error for people.
func CheckDir(dir string) error {
	if dir == "" {
		return errors.New("the session's directory is not known")
	}
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("the session's directory %s is not an absolute path", dir)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the session's directory %s is gone", dir)
	case err != nil:
		return fmt.Errorf("the session's directory cannot be used: %w", err)
	case !info.IsDir():
		return fmt.Errorf("the session's directory %s is not a directory any more", dir)
	}
	return nil
}
