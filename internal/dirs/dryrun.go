package dirs

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// dryRunPrefix is the first part of the name of a dry run's directory. Like daemons, dry runs are
// distinguished by the state directory that they would use.
func dryRunPrefix(stateDir string) string {
	return fmt.Sprintf("resumed-dry-run-%.4x-", sha256.Sum256([]byte(stateDir)))
}

// MakeDryRun makes the directory for the state and the socket of a dry run.
func MakeDryRun(stateDir string) (string, error) {
	dir, err := os.MkdirTemp("", dryRunPrefix(stateDir))
	if err != nil {
		return "", fmt.Errorf("make a directory for the dry run: %w", err)
	}
	return dir, nil
}

// DryRuns returns the directories of the user's dry runs, also of those that crashed. Other users'
// directories are ignored: the temporary directory is shared.
func DryRuns(stateDir string) []string {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), dryRunPrefix(stateDir)+"*"))
	if err != nil {
		return nil // the path is not a valid pattern
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		info, err := os.Lstat(dir)
		if err != nil {
			return true
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		return !ok || !info.IsDir() || int(stat.Uid) != os.Getuid()
	})
}
