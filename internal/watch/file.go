package watch

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// wholeUpTo is the size up to which a file that appears or is replaced while
// the watcher runs is read from its beginning; a larger one is read from its
// end back, as at first sight.
const wholeUpTo = 1 << 20

// file is what is known about one path. Owned by Run.
type file struct {
	path  string
	was   string // the name that those who are told know it by, where that is another
	cur   Cursor // how far it was read
	saved Cursor // the last one that Deliver took
	since int64  // where the reading on began

	// searched is how far an unfinished line was searched for its end: there is
	// no newline between cur.Offset and here, so each byte is searched once
	// however slowly the line grows.
	searched int64

	late   bool // another watcher has read its beginning
	dead   bool // deleted: whatever has its name or its inode now is another file
	first  bool // this incarnation is still to be read from its end back
	sight  uint64
	seen   stamp
	failed bool // the last reading stopped early

	reading *reading // it is being read, and waits for its turn
	round   uint64   // the scan that last saw it
}

// settled says whether there is nothing to do for a file that looks like this.
func (f *file) settled(st stamp) bool {
	return !f.failed && !f.first && !f.dead && f.cur == f.saved && f.seen == st
}

// identify returns the state of the file that has the name by now: known,
// known by another name, replaced, truncated, or never seen.
func (w *Watcher) identify(ctx context.Context, path string, in *os.File, st stamp) (*file, error) {
	f := w.files[path]
	if f == nil {
		f = w.meet(ctx, path, st.id)
	}
	old := f.cur
	same, err := old.fits(in, st)
	switch {
	case err != nil:
		return nil, err
	case same && !f.dead:
		f.cur.Dev = st.id.dev
	case old.IsZero():
		f.begin(st, 0, !w.lain[path] && st.size <= wholeUpTo)
	default:
		if old.id() != st.id && !f.dead {
			w.followOld(ctx, f)
		}
		if f.path != path { // its state went with the old file
			f = &file{path: path, saved: old}
			w.files[path] = f
		}
		w.log.Debug("file began anew", "path", path, "size", st.size, "read_before", old.Offset)
		f.begin(st, old.Gen+1, st.size <= wholeUpTo)
	}
	if w.byID[old.id()] == f {
		delete(w.byID, old.id())
	}
	w.byID[st.id] = f
	f.round = w.round
	return f, nil
}

// begin makes the state that of a new incarnation, nothing of which was read.
func (f *file) begin(st stamp, gen uint32, whole bool) {
	f.cur = Cursor{Dev: st.id.dev, Inode: st.id.inode, Gen: gen}
	f.searched, f.since = 0, 0
	f.first, f.dead, f.late = !whole, false, false
}

// meet makes the state of a path that has none. A file that was renamed brings
// its own.
func (w *Watcher) meet(ctx context.Context, path string, id fileID) *file {
	f := w.byID[id]
	if f != nil && !w.holds(f.path, id) {
		w.leave(ctx, f)
		delete(w.files, f.path)
		f.was = cmp.Or(f.was, f.path)
		f.path, f.saved = path, Cursor{} // to be stored by the new name too
	} else {
		stored, _ := w.opts.Known(path)
		f = &file{path: path, cur: stored, saved: stored, searched: stored.Offset, since: stored.Offset, late: stored.Offset > 0}
	}
	w.files[path] = f
	return f
}

// holds says whether the path still names that file; a second name of it is a
// hard link then, not a new one.
func (w *Watcher) holds(path string, id fileID) bool {
	info, err := os.Lstat(path)
	return err == nil && stampOf(info).id == id
}

// followOld looks for a file that has lost its name, as a rotated log does, in
// the directory where it was, and delivers its unread rest. Where its other name
// is wanted too, its state goes there.
func (w *Watcher) followOld(ctx context.Context, f *file) {
	path, found := findID(filepath.Dir(f.path), f.cur.id())
	switch {
	case !found || path == f.path:
	case !w.wanted(path):
		w.readRest(ctx, f, path)
	case w.files[path] == nil:
		w.tend(ctx, path)
	}
}

// readRest delivers the unread rest of a file whose new name is not wanted, as
// lines of the old one.
func (w *Watcher) readRest(ctx context.Context, f *file, path string) {
	w.leave(ctx, f)
	in, st, err := open(path)
	if err != nil {
		w.complain(path, err)
		return
	}
	defer in.Close()
	if same, err := f.cur.fits(in, st); err != nil || !same || f.first {
		return
	}
	p := pass{w: w, file: f, in: in, stamp: st}
	if err := p.run(ctx); err != nil && ctx.Err() == nil {
		w.complain(path, fmt.Errorf("read rest of %s: %w", f.path, err))
	}
}

// findID returns the name of a file in a directory. It gives up in a large one:
// there a log is hardly rotated, but a thousand files may be replaced at once.
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

// forget drops the state of a file that is no longer there.
func (w *Watcher) forget(f *file) {
	w.bury(f)
	delete(w.files, f.path)
	delete(w.told, f.path)
}

// bury marks a file as deleted. Its inode number is given to the next file that
// is made, which may well begin with the same bytes.
func (w *Watcher) bury(f *file) {
	f.dead = true
	if w.byID[f.cur.id()] == f {
		delete(w.byID, f.cur.id())
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
