package watch

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// wholeUpTo is the size up to which a file that appears or is replaced while
// the watcher runs is read from its beginning; a larger one is read from its
// end back, as at first sight.
const wholeUpTo = 1 << 20

// file is what is known about one path. Owned by Run.
type file struct {
	path        string
	renamedFrom string // the last path that Deliver was given, if it was another
	cur         Cursor // how far it was read

	// searched is how far an unfinished line was searched for its end: there is
	// no newline between cur.Offset and here, so each byte is searched once
	// however slowly the line grows.
	searched int64

	from    int64 // a skipped file is read from the line on that has the byte before; 0: from cur
	seen    stamp
	reading *pass  // not nil: it waits for its next turn
	round   uint32 // the scan that last saw it
	sight   uint32 // the number of its reading from the end back

	kept    bool // Deliver has accepted cur
	late    bool // an earlier watcher has read its beginning
	skipped bool // too old to be read: only what is written from now on is read
	dead    bool // deleted: a file with its name or inode is a new one
	first   bool // its content is to be read from the end back
	failed  bool // the last reading stopped early
}

// upToDate says whether a file with this stamp needs no reading.
func (f *file) upToDate(st stamp) bool {
	return !f.failed && !f.first && !f.dead && f.kept && f.seen == st
}

// identify returns the state of the file that has the path now: known, renamed, replaced,
// truncated, or new.
func (w *Watcher) identify(ctx context.Context, path string, in *os.File, st stamp) (*file, error) {
	f := w.files[path]
	if f == nil {
		f = w.newState(ctx, path, st.id)
	}
	old := f.cur
	same, err := old.fits(in, st, &w.head)
	switch {
	case err != nil:
		return nil, err
	case same && !f.dead:
		f.kept = f.kept && f.cur.Dev == st.id.dev
		f.cur.Dev = st.id.dev
	case f.skipped && f.seen.size <= st.size && f.seen.id == st.id && !f.dead:
		f.begin(st, 0, true)
		f.late, f.from = true, f.seen.size
	case old.IsZero():
		f.begin(st, 0, !w.atStart[path] && st.size <= wholeUpTo)
	default:
		if old.id() != st.id && !f.dead {
			w.followOld(ctx, f)
		}
		if f.path != path { // the state moved with the renamed file
			f = &file{path: path}
			w.files[path] = f
		}
		w.log.Debug("file began anew", "path", path, "size", st.size, "read_before", old.Offset)
		f.begin(st, old.Gen+1, st.size <= wholeUpTo)
	}
	f.skipped = false
	w.dropID(f, old.id())
	w.byID[st.id] = f
	f.round = w.round
	return f, nil
}

// begin resets the state for new content of which nothing was read.
func (f *file) begin(st stamp, gen uint32, whole bool) {
	f.cur = Cursor{Dev: st.id.dev, Inode: st.id.inode, Gen: gen}
	f.searched, f.from = 0, 0
	f.first, f.dead, f.late, f.kept = !whole, false, false, false
}

// newState returns the state of the renamed file, or of the stored cursor.
func (w *Watcher) newState(ctx context.Context, path string, id fileID) *file {
	f := w.byID[id]
	if f != nil && !w.names(f.path, id) {
		w.abandon(ctx, f)
		delete(w.files, f.path)
		f.renamedFrom = cmp.Or(f.renamedFrom, f.path)
		f.path, f.kept = path, false // store it under the new path too
	} else {
		stored, _ := w.opts.Known(path)
		f = readBefore(path, stored)
	}
	w.files[path] = f
	return f
}

// readBefore returns the state of a file that an earlier watcher has read up to cur.
func readBefore(path string, cur Cursor) *file {
	return &file{path: path, cur: cur, kept: true, searched: cur.Offset, late: cur.Offset > 0}
}

// skipUnchanged registers a file without opening it, if it was read to its end and has not changed
// since, or is too old to matter. It returns false for any other file.
func (w *Watcher) skipUnchanged(path string, st stamp, stored Cursor) bool {
	if w.byID[st.id] != nil {
		return false // renamed, or a hard link
	}
	f := (*file)(nil)
	if stored.allRead(st) {
		stored.Dev = st.id.dev
		f = readBefore(path, stored)
	} else if stored.IsZero() && time.Unix(0, st.mtime).Before(w.opts.Since()) {
		f = &file{path: path, late: true, skipped: true, kept: true}
	} else {
		return false
	}
	f.seen, f.round = st, w.round
	w.files[path], w.byID[st.id] = f, f
	return true
}

// names says whether the path still leads to that file: then another path to it is a hard
// link, not a new name.
func (w *Watcher) names(path string, id fileID) bool {
	info, err := os.Lstat(path)
	return err == nil && stampOf(info).id == id
}

// followOld looks in the directory for a file that lost its name, as a rotated log does, and
// delivers the unread rest. If the new name is watched too, the state moves to it.
func (w *Watcher) followOld(ctx context.Context, f *file) {
	path, found := findID(filepath.Dir(f.path), f.cur.id())
	switch {
	case !found || path == f.path:
	case !w.wanted(path):
		w.readRest(ctx, f, path)
	case w.files[path] == nil:
		w.readNew(ctx, path)
	}
}

// readRest delivers the unread rest under the old name: the new one is not watched.
func (w *Watcher) readRest(ctx context.Context, f *file, path string) {
	w.abandon(ctx, f)
	in, info, err := open(path)
	if err != nil {
		w.warn(path, err)
		return
	}
	defer in.Close()
	st := stampOf(info)
	if same, err := f.cur.fits(in, st, &w.head); err != nil || !same || f.first {
		return
	}
	defer w.takeBuffer()()
	p := pass{w: w, file: f, in: in, info: info, stamp: st}
	if err := p.run(ctx); err != nil && ctx.Err() == nil {
		w.warn(path, fmt.Errorf("read rest of %s: %w", f.path, err))
	}
}

// findID returns the path of a file in a directory. It reads 512 names at most: a directory with
// more hardly has rotated logs, but a thousand of its files may be replaced at once.
func findID(dir string, id fileID) (string, bool) {
	const most = 512
	d, err := os.Open(dir)
	if err != nil {
		return "", false
	}
	defer d.Close()
	entries, _ := d.ReadDir(most)
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && stampOf(info).id == id {
			return filepath.Join(dir, e.Name()), true
		}
	}
	return "", false
}

func (w *Watcher) forget(f *file) {
	w.markDeleted(f)
	delete(w.files, f.path)
	delete(w.warned, f.path)
}

// markDeleted marks a file as deleted: the next new file may get its inode number, and may begin
// with the same bytes.
func (w *Watcher) markDeleted(f *file) {
	f.dead = true
	w.dropID(f, f.cur.id())
}

// dropID removes a file from the index of inode numbers. A skipped file is listed by its stamp.
func (w *Watcher) dropID(f *file, id fileID) {
	for _, id := range [...]fileID{id, f.seen.id} {
		if w.byID[id] == f {
			delete(w.byID, id)
		}
	}
}

func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "links below the root are not followed"
	case m.IsDir():
		return "a directory"
	default:
		return "not a regular file"
	}
}
