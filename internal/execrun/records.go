package execrun

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// plainID is an id that no program takes for an option or a path.
var plainID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{3,127}$`)

// writtenSince returns the files of a pattern that were written after that
// time, less what a file system's clock may lag behind.
func writtenSince(pattern string, began time.Time) []string {
	paths, _ := filepath.Glob(pattern) // errs on a bad pattern only
	return slices.DeleteFunc(paths, func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || info.ModTime().Before(began.Add(-time.Second))
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// home returns a directory in the user's home, or where a variable says.
func home(variable string, parts ...string) string {
	if dir := os.Getenv(variable); variable != "" && dir != "" {
		return dir
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return os.DevNull // nothing is found there
	}
	return filepath.Join(append([]string{dir}, parts...)...)
}
