package deliver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"resumed/internal/agent"
	"resumed/internal/atomicfile"
	"resumed/internal/resume"
)

// keptCopies is how many copies of a file that an agent may lose are kept.
const keptCopies = 3

// secure does what an agent needs so that a run of it loses nothing: what
// earlier runs left is removed, and its files are copied aside.
func (d *Deliverer) secure(ctx context.Context, a agent.Agent, session resume.Session, files []string) *resume.NotSent {
	if err := a.Tidy(ctx, session); err != nil {
		return &resume.NotSent{Why: "what an earlier resume left could not be removed: " + err.Error()}
	}
	if len(files) == 0 {
		return nil
	}
	dir, err := d.shelves.claim(backups, session.Key)
	if err != nil {
		return &resume.NotSent{Why: "the transcript could not be copied aside: " + err.Error()}
	}
	for _, file := range files {
		if err := copyAside(file, dir, session.Run.N); err != nil {
			return &resume.NotSent{Why: "the transcript could not be copied aside: " + err.Error()}
		}
	}
	return nil
}

// tidy removes what a run that is over left behind.
func (d *Deliverer) tidy(ctx context.Context, session resume.Session) {
	a := d.opts.Settings().Agent(session.Key.Agent)
	if a == nil {
		return
	}
	if err := a.Tidy(ctx, session); err != nil && ctx.Err() == nil {
		d.log.Warn("what a resume left could not be removed", "session", session.Key.ID, "agent", session.Key.Agent, "err", err)
	}
}

// copyAside copies a file into a directory of its own below dir, named after
// the claim that it is copied for. A file that is as it was copied last is not
// copied again: claims that came to nothing would push out what it was before.
// Only the newest copies stay, whatever their numbers: of most claims there is
// no copy.
func copyAside(file, dir string, n int) error {
	copies, err := copiesIn(dir)
	if err != nil {
		return err
	}
	if len(copies) > 0 && sameContent(file, filepath.Join(dir, strconv.Itoa(copies[len(copies)-1]), filepath.Base(file))) {
		return nil
	}
	into := filepath.Join(dir, strconv.Itoa(n))
	if err := os.MkdirAll(into, 0o700); err != nil {
		return err
	}
	if err := copyFile(file, filepath.Join(into, filepath.Base(file))); err != nil {
		_ = os.Remove(into) // it stays where it holds the copy of another file
		return err
	}
	if copies, err = copiesIn(dir); err != nil {
		return err
	}
	for _, older := range copies[:max(0, len(copies)-keptCopies)] {
		_ = os.RemoveAll(filepath.Join(dir, strconv.Itoa(older))) // it is tried again with the next copy
	}
	return nil
}

// copiesIn returns the numbers of the copies in a session's directory, oldest
// first.
func copiesIn(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var numbers []int
	for _, entry := range entries {
		if n, err := strconv.Atoi(entry.Name()); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// sameContent reports whether two files hold the same. One that cannot be read
// is like no other.
func sameContent(a, b string) bool {
	x, err := os.Open(a)
	if err != nil {
		return false
	}
	defer x.Close()
	y, err := os.Open(b)
	if err != nil {
		return false
	}
	defer y.Close()
	here, there := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, errX := io.ReadFull(x, here)
		m, errY := io.ReadFull(y, there)
		if !bytes.Equal(here[:n], there[:m]) {
			return false
		}
		if errX != nil || errY != nil {
			return ended(errX) && ended(errY)
		}
	}
}

// ended reports whether there is nothing more to read.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// copyFile copies a file so that what has the new name is whole and on disk.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return atomicfile.Copy(to, in, 0o600)
}

// PruneBackups forgets the copies of sessions that were not resumed for that long.
func PruneBackups(stateDir string, age time.Duration, now time.Time) error {
	dir := filepath.Join(stateDir, backups)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var failed []error
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && now.Sub(info.ModTime()) > age {
			failed = append(failed, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(failed...)
}
