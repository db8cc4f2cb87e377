package deliver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// An output may take a part of what all of them may take. Of a larger one the
// end stays, which tells most.
const (
	largestPart = 4 // of one output, in all,
	endPart     = 8 // and of what stays of it
)

// output is one file that keeps what a session's resumes printed or showed.
type output struct {
	path string
	size int64
	mod  time.Time
	runs bool // a command may be writing to it
}

// PruneOutputs bounds what resumes printed: outputs of sessions that were not
// resumed for longer than keep are removed, of one that is very large the end
// stays, and the oldest of what takes more than maxBytes go. One that a command
// is writing to is only cut. It is called now and then: between two calls a
// command may write as much as it likes.
func (d *Deliverer) PruneOutputs(ctx context.Context, keep time.Duration, maxBytes int64, now time.Time) error {
	dirs, err := Outputs(d.opts.StateDir)
	if err != nil {
		return err
	}
	var all []output
	var failed []error
	for key, dir := range dirs {
		var current []string
		session, err := d.opts.Engine.Session(ctx, key)
		if ctx.Err() != nil {
			return nil // the daemon stops, and who runs cannot be told
		}
		if err == nil && session.Run != nil {
			current = []string{d.shelves.output(session), d.shelves.status(session)}
		}
		found := outputsIn(dir, current)
		if current == nil && !slices.ContainsFunc(found, func(o output) bool { return now.Sub(o.mod) <= keep }) {
			failed = append(failed, d.shelves.clear(dir, now.Add(-keep)))
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

// outputsIn returns what a session's directory keeps. current is what a command
// may be writing to.
func outputsIn(dir string, current []string) []output {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
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

// removeOldest removes the oldest outputs until the others fit.
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

// keepEnd cuts off all but the end of a file. Whoever appends to it goes on: what
// is written meanwhile may come to stand before that end.
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
