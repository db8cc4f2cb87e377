package runfiles

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"resumed/internal/atomicfile"
	"resumed/internal/resume"
)

// Of an output that is larger than a part of the limit for all, only the end is kept, which
// matters most.
const (
	largestPart = 4 // an output larger than limit/4 is cut
	endPart     = 8 // to limit/8
)

type output struct {
	path string
	size int64
	mod  time.Time
	runs bool // a command may be writing to it
}

// Prune bounds what is kept. Files of sessions that were not resumed for longer than keep are
// removed, of a very large output only the end is kept, and the oldest outputs are removed if all
// take more than maxBytes. An output that a command is writing to is only cut: running returns
// the number of a session's running resume, 0 if there is none, and an error if that is not known.
func (s *Store) Prune(keep time.Duration, maxBytes int64, now time.Time, running func(resume.Key) (n int, err error)) error {
	dirs, err := Outputs(s.stateDir)
	if err != nil {
		return err
	}
	var all []output
	failed := []error{s.pruneCopies(now.Add(-keep))}
	for key, dir := range dirs {
		n, err := running(key)
		if err != nil {
			return err
		}
		var current []string
		if n > 0 {
			current = []string{s.Output(key, n), s.Status(key, n)}
		}
		found := outputsIn(dir, current)
		if current == nil && !slices.ContainsFunc(found, func(o output) bool { return now.Sub(o.mod) <= keep }) {
			failed = append(failed, s.remove(dir, now.Add(-keep)))
			continue
		}
		all = append(all, found...)
	}
	for i, o := range all {
		if o.size <= maxBytes/largestPart {
			continue
		}
		failed = append(failed, keepEnd(o.path, maxBytes/endPart))
		all[i].size = min(o.size, maxBytes/endPart)
	}
	return errors.Join(append(failed, removeOldest(all, maxBytes)...)...)
}

// outputsIn returns the files in a session's directory. A command may be writing to the current ones.
func outputsIn(dir string, current []string) []output {
	entries, _ := os.ReadDir(dir) // tried again at the next Prune
	var all []output
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || entry.Name() == agentFile || !info.Mode().IsRegular() {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		all = append(all, output{path, info.Size(), info.ModTime(), slices.Contains(current, path)})
	}
	return all
}

func removeOldest(all []output, maxBytes int64) (failed []error) {
	var total int64
	for _, o := range all {
		total += o.size
	}
	slices.SortFunc(all, func(a, b output) int { return cmp.Or(a.mod.Compare(b.mod), cmp.Compare(a.path, b.path)) })
	for _, o := range all {
		if total <= maxBytes {
			break
		}
		if o.runs {
			continue
		}
		if err := os.Remove(o.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
			continue
		}
		total -= o.size
	}
	return failed
}

// keepEnd removes all but the end of a file. A command can still append to it: what it writes
// meanwhile may come before that end.
func keepEnd(path string, n int64) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() <= n {
		return err
	}
	end, err := io.ReadAll(io.NewSectionReader(file, info.Size()-n, n))
	if err != nil {
		return err
	}
	if _, lines, found := bytes.Cut(end, []byte("\n")); found {
		end = lines
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.Write(append(fmt.Appendf(nil, "[resumed has cut off the %d bytes before this]\n", info.Size()-int64(len(end))), end...))
	return err
}

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
