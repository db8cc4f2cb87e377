package state

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Dir returns the directory that holds the state: the one systemd made for
// the service, else the user's own.
func Dir(getenv func(string) string) (string, error) {
	if dir, err := serviceDir(getenv, "STATE_DIRECTORY"); dir != "" || err != nil {
		return dir, err
	}
	// The XDG rules say that a relative path is to be passed over.
	if base := getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "resumed"), nil
	}
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("find the state directory: none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set to an absolute path")
	}
	return filepath.Join(home, ".local", "state", "resumed"), nil
}

// RuntimeDir returns the directory that holds the socket: what goes away with
// the login or the service where there is such a place, else the state directory.
func RuntimeDir(getenv func(string) string) (string, error) {
	if dir, err := serviceDir(getenv, "RUNTIME_DIRECTORY"); dir != "" || err != nil {
		return dir, err
	}
	if base := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(base) {
		return filepath.Join(base, "resumed"), nil
	}
	return Dir(getenv)
}

// serviceDir reads a variable in which systemd lists a service's directories.
func serviceDir(getenv func(string) string, name string) (string, error) {
	first, _, _ := strings.Cut(getenv(name), ":")
	if first != "" && !filepath.IsAbs(first) {
		return "", fmt.Errorf("read %s: %q is not an absolute path", name, first)
	}
	return first, nil
}
