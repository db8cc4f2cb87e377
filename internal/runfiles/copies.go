package runfiles

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"resumed/internal/atomicfile"
	"resumed/internal/resume"
)

// keptCopies is how many copies of a file that an agent may lose are kept.
const keptCopies = 3

// Copy copies files of a session before its n-th resume, which may lose them.
func (s *Store) Copy(key resume.Key, n int, files []string) error {
	if len(files) == 0 {
		return nil
	}
	dir, err := s.claim(copies, key)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := copyInto(dir, file, n); err != nil {
			return err
		}
	}
	return nil
}

// copyInto copies a file into the directory dir/n. If the newest copy is the same, it is
// not copied again: claims that are not delivered would push out older states.
// Only the newest copies are kept, whatever their numbers: most claims make no copy.
func copyInto(dir, file string, n int) error {
	name := filepath.Base(file)
	if had := numbers(dir, ""); len(had) > 0 && sameContent(file, filepath.Join(dir, strconv.Itoa(had[len(had)-1]), name)) {
		return nil
	}
	into := filepath.Join(dir, strconv.Itoa(n))
	if err := os.MkdirAll(into, 0o700); err != nil {
		return err
	}
	if err := copyFile(file, filepath.Join(into, name)); err != nil {
		_ = os.Remove(into) // it stays if it has the copy of another file
		return err
	}
	had := numbers(dir, "")
	for _, older := range had[:max(0, len(had)-keptCopies)] {
		_ = os.RemoveAll(filepath.Join(dir, strconv.Itoa(older))) // it is tried again with the next copy
	}
	return nil
}

// copyFile copies a file. Under its new name the file is complete and synced to disk.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return atomicfile.Copy(to, in, 0o600)
}

// sameContent reports whether two files are the same. A file that cannot be read equals none.
func sameContent(a, b string) bool {
	sumA, errA := checksum(a)
	sumB, errB := checksum(b)
	return errA == nil && errB == nil && sumA == sumB
}

func checksum(path string) (sum [sha256.Size]byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return [sha256.Size]byte(hash.Sum(nil)), err
}

// pruneCopies removes the copies of sessions that were not resumed since then.
func (s *Store) pruneCopies(since time.Time) error {
	dir := filepath.Join(s.stateDir, copies)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var failed []error
	for _, entry := range entries {
		failed = append(failed, s.remove(filepath.Join(dir, entry.Name()), since))
	}
	return errors.Join(failed...)
}
