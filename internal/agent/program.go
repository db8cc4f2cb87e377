package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// FindProgram returns the path of a program: by its name in PATH, else in one
// of the places. A name with a slash in it is that very file; ~/ begins the
// user's home directory.
func FindProgram(name string, places ...string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find program %s: %w", name, err)
		}
		name = filepath.Join(home, rest)
	}
	path, err := exec.LookPath(name)
	if err == nil {
		return filepath.Abs(path)
	}
	if !strings.ContainsRune(name, filepath.Separator) {
		for _, place := range places {
			if path, err := exec.LookPath(filepath.Join(place, name)); err == nil {
				return filepath.Abs(path)
			}
		}
	}
	return "", fmt.Errorf("find program %s: %w", name, err)
}

// WithPath returns env with the program's own directory in front of PATH, where
// PATH does not have it: a script installed by npm needs the node beside it.
// A PATH that env sets is left as it is.
func WithPath(env []string, program string) []string {
	dir, path := filepath.Dir(program), os.Getenv("PATH")
	set := slices.ContainsFunc(env, func(pair string) bool { return strings.HasPrefix(pair, "PATH=") })
	if set || slices.Contains(filepath.SplitList(path), dir) {
		return slices.Clone(env)
	}
	return append(slices.Clone(env), "PATH="+dir+string(filepath.ListSeparator)+path)
}

// CheckDir returns nil for a directory that one can work in, and an error in
// words for people otherwise.
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
