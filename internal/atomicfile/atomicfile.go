// Package atomicfile replaces files at once: whoever reads one finds all of the
// old or all of the new, also after a crash.
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

// Write makes data the whole of the file at path. It is os.WriteFile, but that
// a link of that name is replaced, not followed.
func Write(path string, data []byte, perm fs.FileMode) error {
	return Copy(path, bytes.NewReader(data), perm)
}

// Copy is Write of all that can be read.
func Copy(path string, from io.Reader, perm fs.FileMode) error {
	dir := filepath.Dir(path)
	// A name of its own, in the same directory: a rename does not cross file
	// systems. It says nothing of path's name, which may be as long as a name can be.
	temp := filepath.Join(dir, ".resumed-"+rand.Text())
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	// On disk before it has the name, else a crash could leave the name on nothing.
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return SyncDir(dir)
}

// SyncDir brings the names in a directory to disk. A file system that cannot do that
// is left to itself: there is no other way to ask.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil // it may be written to and not read
	}
	defer d.Close()
	if err := d.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
