// Package regular reports whether a path is a regular file. Opening a named pipe
// blocks until another process writes to it, which may be never.
package regular

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Check returns an error where something else than a regular file has that name.
// Nothing is wrong with a name that nothing has, nor with what this process was given
// without a name, as by /dev/stdin.
func Check(path string) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // to open it tells why
	}
	info, err := os.Lstat(target)
	if err != nil || info.Mode().IsRegular() {
		return nil
	}
	kind := "a device"
	switch {
	case info.IsDir():
		return &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case info.Mode()&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case info.Mode()&fs.ModeSocket != 0:
		kind = "a socket"
	}
	return fmt.Errorf("%s is %s, not a file; move it away", path, kind)
}

// Read returns what a regular file holds.
func Read(path string) ([]byte, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
