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

// Check returns an error if the path is something else than a regular file. A path that does not exist
// is no error, and neither is an open file of this process without a name, such as /dev/stdin.
func Check(path string) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // opening it returns the reason
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

// Read returns the content of a regular file.
func Read(path string) ([]byte, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
