// Package starts stores what the processes of sessions were started with, with the values of their
// environments: one file a session, for its user alone, in the runtime directory. Values are only
// written to a file system in memory. The daemon writes these files, and so do hooks of agents and
// exec, which also run while no daemon does.
package starts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"resumed/internal/atomicfile"
	"resumed/internal/mounts"
	"resumed/internal/procfs"
	"resumed/internal/regular"
	"resumed/internal/resume"
	"resumed/internal/usermanager"
)

const suffix = ".json"

// Store is the directory with the files.
type Store struct{ dir string }

// In returns the store in a runtime directory.
func In(runtimeDir string) *Store { return &Store{filepath.Join(runtimeDir, "starts")} }

type record struct {
	Origin  *resume.Origin `json:"origin"`
	Environ []string       `json:"environ,omitempty"` // Origin does not write it

	// Restrictions are those of the writer: a hook in a sandbox does not see that it is in one.
	Restrictions map[string]string `json:"restrictions"`
}

func (s *Store) path(key resume.Key) string {
	return filepath.Join(s.dir, url.PathEscape(key.Agent)+"@"+url.PathEscape(key.ID)+suffix)
}

// Put stores a session's process, and what that was started with.
func (s *Store) Put(key resume.Key, start *resume.Origin) error {
	err := os.MkdirAll(s.dir, 0o700)
	if err == nil {
		err = private(s.dir)
	}
	if err == nil {
		err = s.write(key, start)
	}
	if err != nil {
		return fmt.Errorf("store the start of a session: %w", err)
	}
	return nil
}

func (s *Store) write(key resume.Key, start *resume.Origin) error {
	if earlier, known := s.Get(key); known {
		start = start.Since(earlier)
	}
	r := record{Origin: start, Restrictions: procfs.Proc.Restrictions(usermanager.Starter())}
	if mounts.InMemory(s.dir) {
		r.Environ = start.Environ
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return atomicfile.Write(s.path(key), data, 0o600)
}

// Get returns the start of a session's process, or false if it is not stored, or not by its user. What was written in a
// sandbox names no program that could be run outside of it.
func (s *Store) Get(key resume.Key) (*resume.Origin, bool) {
	path := s.path(key)
	if private(s.dir) != nil || private(path) != nil {
		return nil, false
	}
	data, err := regular.Read(path)
	var r record
	if err != nil || json.Unmarshal(data, &r) != nil || r.Origin == nil {
		return nil, false
	}
	r.Origin.Environ = r.Environ
	if why := strings.Join(procfs.Proc.Compare(r.Restrictions, usermanager.Starter()), ", "); why != "" {
		r.Origin.Sandbox = cmp.Or(r.Origin.Sandbox, why)
		r.Origin.Program, r.Origin.Through = resume.Program{}, nil
	}
	return r.Origin, true
}

// Remove removes the start of a session's process, if it is stored.
func (s *Store) Remove(key resume.Key) {
	_ = os.Remove(s.path(key)) // an old file is pruned
}

// Prune removes the files that were not written since then.
func (s *Store) Prune(since time.Time) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove old starts of sessions: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(entry fs.DirEntry) bool {
		info, err := entry.Info()
		return err != nil || !strings.HasSuffix(entry.Name(), suffix) || !info.ModTime().Before(since)
	})
	var failed []error
	for _, entry := range entries {
		failed = append(failed, os.Remove(filepath.Join(s.dir, entry.Name())))
	}
	return errors.Join(failed...)
}

func private(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 || info.Mode()&os.ModeSymlink != 0 {
		return fmt.Errorf("%s is not private", path)
	}
	return nil
}

const maxFile = 4 << 20

// HashFiles returns a hash of each of these files, without those that cannot be read. What is no regular
// file is not opened: a pipe would be waited for.
func HashFiles(paths []string) map[string]string {
	var hashes map[string]string
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		hash := sha256.New()
		_, err = io.Copy(hash, io.LimitReader(file, maxFile))
		_ = file.Close() // nothing was written
		if err != nil {
			continue
		}
		if hashes == nil {
			hashes = make(map[string]string)
		}
		hashes[path] = hex.EncodeToString(hash.Sum(nil)[:16])
	}
	return hashes
}

// ChangedFiles returns the files that flags of the start name and that have changed since, and those that
// cannot be read any longer.
func ChangedFiles(o resume.Origin) (changed, gone []string) {
	now := HashFiles(slices.Collect(maps.Keys(o.Files)))
	for _, path := range slices.Sorted(maps.Keys(o.Files)) {
		switch hash, there := now[path]; {
		case !there:
			gone = append(gone, path)
		case hash != o.Files[path]:
			changed = append(changed, path)
		}
	}
	return changed, gone
}
