package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	fileName   = "resumed/resumed.toml"
	systemPath = "/etc/" + fileName
)

// Find returns the file that is in force: the flag's, else $RESUMED_CONFIG,
// else the user's, else the system's; "" where there is none. A file that was
// named must be there.
func Find(flag string, getenv func(string) string) (string, error) {
	if flag != "" {
		return named(flag, "read configuration")
	}
	if path := getenv("RESUMED_CONFIG"); path != "" {
		return named(path, "RESUMED_CONFIG")
	}
	return firstOf(places(getenv))
}

// UserPath returns where the user's own file is or would be; "" where neither
// $XDG_CONFIG_HOME nor $HOME says.
func UserPath(getenv func(string) string) string {
	// A relative XDG_CONFIG_HOME is to be ignored, says its specification.
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, fileName)
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", fileName)
	}
	return ""
}

// places returns where a file is looked for that nobody named, best first.
func places(getenv func(string) string) []string {
	if user := UserPath(getenv); user != "" {
		return []string{user, systemPath}
	}
	return []string{systemPath}
}

func named(path, by string) (string, error) {
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s: %w", by, err)
	}
	return path, nil
}

// firstOf returns the first path that exists, or "".
func firstOf(paths []string) (string, error) {
	for _, path := range paths {
		_, err := os.Stat(path)
		switch {
		case err == nil:
			return path, nil
		case !missing(err):
			return "", fmt.Errorf("look for configuration: %w", err)
		}
	}
	return "", nil
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
