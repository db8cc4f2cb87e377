package watch

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"sync"
)

// At a start there may be a hundred thousand files that nobody has read, and the end of
// nearly every one tells at once that its session works. So the ends are looked at ahead
// of Run, on all processors that are free, and Run only takes note, in the order in which it
// would have read them. A file of which such a look does not tell enough, or that is not
// plainly a new one, is read as any other.
const (
	lastFew   = 4 << 10  // of a file's end are judged first: sifting the rest is most of the work
	inAChunk  = 64       // files that are looked at one after the other
	fewFirst  = 8 << 10  // of a long file's beginning are read too, while it is open: most say there what they are
	mostFirst = 32 << 10 // of one whose first line is longer
)

// chunk is files that are looked at ahead of Run.
type chunk struct {
	paths  []string
	fresh  []bool // regular ones, of which there is no cursor
	sights []glimpse
	done   chan struct{} // closed when all were looked at
	stale  bool          // names changed since: what was seen may be of other files
}

// glimpse is what a look at a file's end told.
type glimpse struct {
	looks  looks
	cursor Cursor
	judged any
	enough bool
}

// glancing is the memory of one who looks.
type glancing struct {
	block [firstLook]byte
	head  [mostFirst]byte
	lines []Line
}

var glancers = sync.Pool{New: func() any { return new(glancing) }}

// lookAhead has the next files looked at, as many as there are processors to do so. It
// reports whether there are any to take note of.
func (w *Watcher) lookAhead(ctx context.Context) bool {
	for w.opts.Glance != nil && w.lain != nil && len(w.todo) > 0 && len(w.ahead) <= runtime.GOMAXPROCS(0) {
		next := w.todo[:min(len(w.todo), inAChunk)]
		if w.todo = w.todo[len(next):]; len(w.todo) == 0 {
			w.todo = nil // a first scan finds all there are
		}
		c := &chunk{done: make(chan struct{})}
		for _, f := range next {
			c.paths, c.fresh = append(c.paths, f.path), append(c.fresh, f.fresh && f.regular && w.lain[f.path])
		}
		w.ahead = append(w.ahead, c)
		go w.lookAt(ctx, c)
	}
	return len(w.ahead) > 0
}

// lookAt looks at the files of a chunk. It runs beside Run, and touches nothing of its own.
func (w *Watcher) lookAt(ctx context.Context, c *chunk) {
	defer close(c.done)
	room := glancers.Get().(*glancing)
	defer glancers.Put(room)
	sights := make([]glimpse, len(c.paths))
	for i, path := range c.paths {
		if c.fresh[i] && ctx.Err() == nil {
			sights[i].enough = w.glance(path, room, &sights[i])
		}
	}
	c.sights = sights
}

// glance looks at the end of a file. It reports whether that tells all that a first sight
// of it would.
func (w *Watcher) glance(path string, room *glancing, g *glimpse) bool {
	in, err := peekAt(path, &g.looks)
	if err != nil {
		return false
	}
	defer in.close()
	st := g.looks.stamp()
	from := max(0, st.size-firstLook)
	block := room.block[:st.size-from]
	if in.read(block, from) != nil {
		return false
	}
	block = block[:lineStart(block)]
	first, ok := firstLine(block, from)
	if !ok {
		return false
	}
	head := block
	if from > 0 {
		if head, err = firstLines(in, room.head[:min(st.size, mostFirst)]); err != nil {
			return false
		}
	}
	g.cursor, _ = Cursor{Dev: st.id.dev, Inode: st.id.inode}.at(from+int64(len(block)), func(n int64) ([]byte, error) { return head[:n], nil })
	g.cursor = g.cursor.noting(st)
	batch := Batch{
		Path: path, Info: g.looks.info(), ModTime: g.looks.info().ModTime(), Born: g.looks.born, Epoch: g.cursor.Epoch(),
		Held: block[first:], HeldAt: from + int64(first), Back: true,
	}
	if from > 0 {
		batch.Head = head[:lineStart(head)]
	}
	return w.judge(g, room, batch)
}

// firstLines reads the beginning of a file of more than fewFirst bytes: that many, and as
// many as there is room for where no line ends in those.
func firstLines(in peek, room []byte) ([]byte, error) {
	few := room[:fewFirst]
	if err := in.read(few, 0); err != nil || bytes.IndexByte(few, '\n') >= 0 {
		return few, err
	}
	return room, in.read(room[fewFirst:], fewFirst)
}

// firstLine returns where the first line begins in a block that ends with one and stands at
// an offset; false where none does.
func firstLine(block []byte, offset int64) (start int, ok bool) {
	if offset == 0 || len(block) == 0 {
		return 0, len(block) > 0
	}
	start = bytes.IndexByte(block[:len(block)-1], '\n') + 1
	return start, start > 0
}

// judge asks what the lines that are held mean: the last few of them, and all of them where
// those do not tell enough.
func (w *Watcher) judge(g *glimpse, room *glancing, batch Batch) (enough bool) {
	block, offset := batch.Held, batch.HeldAt
	defer func() { clear(room.lines[:cap(room.lines)]) }()
	if before := len(block) - lastFew; before > 0 {
		if start := bytes.IndexByte(block[before-1:len(block)-1], '\n') + 1; start > 0 {
			start += before - 1
			room.lines = w.siftTo(room.lines, block[start:], offset+int64(start))
			batch.Lines, batch.Few = room.lines, true
			if g.judged, enough = w.opts.Glance(batch); enough {
				return true
			}
		}
	}
	room.lines = w.siftTo(room.lines, block, offset)
	batch.Lines, batch.Few = room.lines, false
	g.judged, enough = w.opts.Glance(batch)
	return enough
}

// take takes note of files that were looked at, as far as that is all there is to do; else
// it reads one of them.
func (w *Watcher) take(ctx context.Context) {
	c := w.ahead[0]
	<-c.done
	for len(c.paths) > 0 && ctx.Err() == nil {
		path, seen := c.paths[0], &c.sights[0]
		c.paths, c.sights = c.paths[1:], c.sights[1:]
		if len(c.paths) == 0 {
			w.ahead = slices.Delete(w.ahead, 0, 1)
		}
		w.more = len(c.paths) > 0 || w.lookAhead(ctx)
		noted := !c.stale && seen.enough && w.note(ctx, path, seen)
		if !noted {
			w.tend(ctx, path)
		}
		w.more = false
		if !noted {
			return
		}
	}
}

// note takes note of a file whose end was looked at. It returns false where it is to be
// read as any other.
func (w *Watcher) note(ctx context.Context, path string, g *glimpse) bool {
	st := g.looks.stamp()
	if w.knows(path) || w.knowsID(st.id) {
		return false // it was read meanwhile, or is known by another name
	}
	w.sights++
	f := &file{
		path: path, cur: g.cursor, since: g.cursor.Offset, searched: st.size,
		seen: st, round: w.round, sight: w.sights, kept: true,
	}
	_, err := w.opts.Deliver(ctx, Batch{
		Path: path, Info: g.looks.info(), ModTime: g.looks.info().ModTime(), Epoch: f.cur.Epoch(),
		Judged: g.judged, More: w.more, Since: f.since, Cursor: f.cur, Sight: f.sight,
	})
	if err != nil {
		return false
	}
	w.keep(f)
	w.ended(ctx, path, nil, nil)
	return true
}

// doubt has files be read that were looked at and not yet taken note of: names have changed.
func (w *Watcher) doubt() {
	for _, c := range w.ahead {
		c.stale = true
	}
}

// awaitLooks returns when nobody looks ahead any more.
func (w *Watcher) awaitLooks() {
	for _, c := range w.ahead {
		<-c.done
	}
	w.ahead = nil
}
