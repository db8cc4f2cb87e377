package watch

import (
	"bytes"
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
	path  string
	was   string // the name that those who are told know it by, where that is another
	cur   Cursor // how far it was read
	since int64  // where the reading on began

	// searched is how far an unfinished line was searched for its end: there is
	// no newline between cur.Offset and here, so each byte is searched once
	// however slowly the line grows.
	searched int64

	seen    stamp
	reading *reading // it is being read, and waits for its turn
	round   uint32   // the scan that last saw it
	sight   uint32   // the number of its first sight

	kept   bool // cur is the last one that Deliver took
	late   bool // another watcher has read its beginning
	rested bool // it was left unread for its age, as long as it was when it was seen
	dead   bool // deleted: whatever has its name or its inode now is another file
	first  bool // this incarnation is still to be read from its end back
	failed bool // the last reading stopped early
}

// settled says whether there is nothing to do for a file that looks like this.
func (f *file) settled(st stamp) bool {
	return !f.failed && !f.first && !f.dead && f.kept && f.seen == st
}

// identify returns the state of the file that has the name by now: known,
// known by another name, replaced, truncated, or never seen.
func (w *Watcher) identify(ctx context.Context, path string, in *os.File, st stamp) (*file, error) {
	f := w.files[path]
	if f == nil {
		f = w.meet(ctx, path, st.id)
	}
	old := f.cur
	same, err := old.fits(in, st, &w.head)
	switch {
	case err != nil:
		return nil, err
	case same && !f.dead:
		f.kept = f.kept && f.cur.Dev == st.id.dev
		f.cur.Dev = st.id.dev
	case f.rested && f.seen.size <= st.size && f.seen.id == st.id && !f.dead:
		if err := f.wakes(in, st); err != nil {
			return nil, err
		}
	case old.IsZero():
		f.begin(st, 0, !w.lain[path] && st.size <= wholeUpTo)
	default:
		if old.id() != st.id && !f.dead {
			w.followOld(ctx, f)
		}
		if f.path != path { // its state went with the old file
			f = &file{path: path}
			w.files[path] = f
		}
		w.log.Debug("file began anew", "path", path, "size", st.size, "read_before", old.Offset)
		f.begin(st, old.Gen+1, st.size <= wholeUpTo)
	}
	f.rested = false
	w.unlist(f, old.id())
	w.byID[st.id] = f
	f.round = w.round
	return f, nil
}

// begin makes the state that of a new incarnation, nothing of which was read.
func (f *file) begin(st stamp, gen uint32, whole bool) {
	f.cur = Cursor{Dev: st.id.dev, Inode: st.id.inode, Gen: gen}
	f.searched, f.since = 0, 0
	f.first, f.dead, f.late, f.kept = !whole, false, false, false
}

// meet makes the state of a path that has none. A file that was renamed brings
// its own.
func (w *Watcher) meet(ctx context.Context, path string, id fileID) *file {
	f := w.byID[id]
	if f != nil && !w.holds(f.path, id) {
		w.leave(ctx, f)
		delete(w.files, f.path)
		f.was = cmp.Or(f.was, f.path)
		f.path, f.kept = path, false // to be stored by the new name too
	} else {
		stored, _ := w.opts.Known(path)
		f = readBefore(path, stored)
	}
	w.files[path] = f
	return f
}

// readBefore makes the state of a file that another watcher has read up to there.
func readBefore(path string, cur Cursor) *file {
	return &file{path: path, cur: cur, kept: true, searched: cur.Offset, since: cur.Offset, late: cur.Offset > 0}
}

// rests takes note of a file without opening it: one that was read to its end and
// has not changed since, or one that rests for so long that nothing in it matters
// any more. It returns false for any other.
func (w *Watcher) rests(path string, st stamp, stored Cursor) bool {
	if w.byID[st.id] != nil {
		return false // renamed, or a second name of it
	}
	f := (*file)(nil)
	if stored.allRead(st) {
		stored.Dev = st.id.dev
		f = readBefore(path, stored)
	} else if stored.IsZero() && time.Unix(0, st.mtime).Before(w.opts.Since()) {
		f = &file{path: path, late: true, rested: true, kept: true}
	} else {
		return false
	}
	f.seen, f.round = st, w.round
	w.files[path], w.byID[st.id] = f, f
	return true
}

// wakes begins to read a file that rested until now, at what is new in it.
func (f *file) wakes(in *os.File, st stamp) error {
	f.begin(st, 0, true)
	f.late = true
	room := blocks.Get().(*[blockSize]byte)
	defer blocks.Put(room)
	block := room[:min(f.seen.size, blockSize)]
	at := f.seen.size - int64(len(block))
	if err := readAt(in, block, at); err != nil {
		return err
	}
	start := bytes.LastIndexByte(block, '\n') + 1
	if start == 0 && at > 0 {
		f.first = true // a line of more than a block: it is found on the way back
		return nil
	}
	cur, err := f.cur.at(at+int64(start), func(n int64) ([]byte, error) { return block[:n], readAt(in, block[:n], 0) })
	f.cur, f.searched, f.since = cur, cur.Offset, cur.Offset
	return err
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
	in, info, err := open(path)
	if err != nil {
		w.complain(path, err)
		return
	}
	defer in.Close()
	st := stampOf(info)
	if same, err := f.cur.fits(in, st, &w.head); err != nil || !same || f.first {
		return
	}
	defer w.borrow()()
	p := pass{w: w, file: f, in: in, info: info, stamp: st}
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
	w.unlist(f, f.cur.id())
}

// unlist lets a file be found by its number no longer. One that rests has it from
// how it was seen.
func (w *Watcher) unlist(f *file, id fileID) {
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
