// Package atomicfile replaces files atomically: a reader gets either all of the old content or all of
// the new, also after a crash.
package atomicfile

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Write replaces the content of the file at path. It is like os.WriteFile, except that a symbolic link
// is replaced, not followed.
func Write(path string, data []byte, perm fs.FileMode) error {
	return Copy(path, bytes.NewReader(data), perm)
}

// Copy is Write with the content of a reader.
func Copy(path string, from io.Reader, perm fs.FileMode) error {
	dir := filepath.Dir(path)
	// A unique name in the same directory: a rename does not cross file systems. It does not contain
	// path's name, which may have the maximum length.
	temp := filepath.Join(dir, ".resumed-"+rand.Text())
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	// Sync before the rename: otherwise a crash could leave an empty file under that name.
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return SyncDir(dir)
}

// SyncDir writes the entries of a directory to disk. If the file system does not support that, it does
// nothing: there is no other way.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil // the directory may be writable and not readable
	}
	defer d.Close()
	if err := d.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
