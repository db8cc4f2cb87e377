package watch

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"

	"resumed/internal/sparse"
)

const (
	blockSize = 1024 << 10 // the most that is read at a time
	firstLook = 8 << 10    // what is first looked at of a file's end; mostly enough
	firstRead = 32 << 10   // what is read with it, in the same call of the system: agents look at the lines before
	lineLimit = 8 << 20    // longer lines are cut
	cutSize   = 64 << 10   // to this
)

// pass is one reading of a file, up to the size that it had when it was opened. Owned by Run.
type pass struct {
	w *Watcher
	*file
	in *os.File
	stamp
	info fs.FileInfo

	read  int64       // bytes so far
	left  int64       // bytes left of this turn
	look  int64       // how much is read at a time; 0: a block
	yield func() bool // ends the turn; false: stop reading. Nil: there is one turn only

	turn func() bool // reads one turn; false at the end
	stop func()      // ends the reading
	err  error       // how it ended

	asked []chan error // callers of Check that wait for the end
	again bool         // the file has changed meanwhile,
	later []chan error // and these callers wait for a second reading
}

// pause ends a turn that is used up. The watcher's buffers are lost then.
func (p *pass) pause(ctx context.Context) error {
	if p.left <= 0 && p.yield != nil {
		p.left = turnSize
		if !p.yield() || p.dead {
			return errAbandoned
		}
	}
	return ctx.Err()
}

func (p *pass) run(ctx context.Context) error {
	// Lines of megabytes are rare: do not keep their buffer.
	defer func() { p.w.long = nil }()
	if p.first {
		if err := p.backward(ctx); err != nil {
			return err
		}
	}
	if p.from > 0 {
		start, err := p.lineStart(ctx, min(p.from, p.size), firstLook)
		if err == nil {
			p.cur, err = p.at(start)
		}
		if err != nil {
			return err
		}
		p.from, p.searched = 0, start
	}
	if p.size < p.searched { // an unfinished line was removed
		p.searched = p.cur.Offset
	}
	if err := p.forward(ctx); err != nil {
		return err
	}
	if p.kept {
		return nil
	}
	_, err := p.deliver(ctx, nil, p.cur)
	return err
}

// forward delivers the complete lines from the cursor on.
func (p *pass) forward(ctx context.Context) error {
	for p.searched < p.size {
		if err := p.pause(ctx); err != nil {
			return err
		}
		if p.searched > p.cur.Offset {
			found, err := p.finishLine(ctx)
			if err != nil || !found {
				return err
			}
			continue
		}
		look := cmp.Or(p.look, blockSize)
		block, err := p.block(p.w.buf[:look], p.cur.Offset, p.size)
		if err != nil {
			return err
		}
		whole, end := bytes.LastIndexByte(block, '\n')+1, p.cur.Offset+int64(len(block))
		if whole == 0 {
			p.look, p.searched = blockSize, end
			continue
		}
		lines := p.sift(block[:whole], p.cur.Offset)
		if n := p.charge(lines); n < len(lines) { // the rest is read again in the next turn
			end := lines[n-1].End
			p.look = max(firstLook, end-p.cur.Offset)
			if err := p.advance(ctx, lines[:n], end); err != nil {
				return err
			}
			continue
		}
		p.look = min(2*look, blockSize)
		if err := p.advance(ctx, lines, p.cur.Offset+int64(whole)); err != nil {
			return err
		}
		if end == p.size {
			p.searched = end
		}
	}
	return nil
}

// charge takes the cost of lines from the turn, and returns how many fit into one: nearly always all.
func (p *pass) charge(lines []Line) int {
	cost, n := int64(0), 0
	for n < len(lines) && cost < turnSize {
		cost += costs[lines[n].Weight]
		n++
	}
	p.left -= cost
	return n
}

// finishLine searches for the end of the line at the cursor, beyond what was searched
// before. A line longer than a block is delivered alone.
func (p *pass) finishLine(ctx context.Context) (found bool, err error) {
	for p.searched < p.size {
		if err := p.pause(ctx); err != nil {
			return false, err
		}
		block, err := p.block(p.w.buf, p.searched, p.size)
		if err != nil {
			return false, err
		}
		i := bytes.IndexByte(block, '\n')
		if i < 0 {
			p.searched = min(p.size, sparse.NextData(p.in, p.searched+int64(len(block))))
			continue
		}
		end := p.searched + int64(i) + 1
		if end-p.cur.Offset <= int64(len(p.w.buf)) {
			p.searched = p.cur.Offset // fits a block, with the lines after it
			return true, nil
		}
		lines, err := p.longLine(p.cur.Offset, end)
		if err != nil {
			return false, err
		}
		return true, p.advance(ctx, lines, end)
	}
	return false, nil
}

// advance delivers lines, if there are any, and moves the cursor past them.
func (p *pass) advance(ctx context.Context, lines []Line, offset int64) error {
	cur, err := p.at(offset)
	if err != nil {
		return err
	}
	if len(lines) > 0 {
		if _, err := p.deliver(ctx, lines, cur); err != nil {
			return err
		}
	}
	p.kept = len(lines) > 0 || p.kept && p.cur == cur
	p.cur, p.searched = cur, offset
	return nil
}

func (p *pass) at(offset int64) (Cursor, error) {
	cur, err := p.cur.at(offset, p.in, &p.w.head)
	return cur.noting(p.stamp), err
}

// lastBlock returns the lines that were read last, and their offset, if they are still in memory.
func (p *pass) lastBlock() ([]byte, int64) {
	if p.w.blockOf != p {
		return nil, 0
	}
	return p.w.block, p.w.blockAt
}

// backward delivers a file's lines from its end back until Deliver has enough,
// and sets the cursor past the last complete line.
func (p *pass) backward(ctx context.Context) error {
	p.w.firstReads++
	p.sight = p.w.firstReads
	look := int64(firstLook)
	end, err := p.lineStart(ctx, p.size, firstRead) // the rest is not a complete line yet
	if err != nil {
		return err
	}
	cur, err := p.at(end)
	if err != nil {
		return err
	}
	for end > 0 {
		var lines []Line
		if lines, end, err = p.linesBefore(ctx, end, look); err != nil {
			return err
		}
		enough, err := p.deliver(ctx, lines, Cursor{})
		if err != nil {
			return err
		}
		if enough {
			break
		}
		if p.charge(lines) == len(lines) { // else a small block has many lines already
			look = min(2*look, blockSize)
		}
		if err := p.pause(ctx); err != nil {
			return err
		}
	}
	p.first, p.cur, p.kept, p.searched = false, cur, false, p.size
	return nil
}

// linesBefore returns the lines that end at end, as many as begin within look
// bytes before it, at least one, and where the first of them begins.
func (p *pass) linesBefore(ctx context.Context, end, look int64) ([]Line, int64, error) {
	from := max(0, end-look)
	for ; ; look, from = 4*look, max(0, end-min(4*look, blockSize)) {
		block, err := p.exactly(p.w.buf[:end-from], from)
		if err != nil {
			return nil, 0, err
		}
		skip := 0
		if from > 0 { // the first line may begin before the block
			skip = bytes.IndexByte(block[:len(block)-1], '\n') + 1
		}
		if start := from + int64(skip); skip > 0 || from == 0 {
			return p.sift(block[skip:], start), start, nil
		}
		if look >= blockSize {
			break
		}
	}
	start, err := p.lineStart(ctx, from, blockSize)
	if err != nil {
		return nil, 0, err
	}
	lines, err := p.longLine(start, end)
	return lines, start, err
}

// lineStart returns where the line begins that the byte before end is of. It reads so much first.
func (p *pass) lineStart(ctx context.Context, end, look int64) (int64, error) {
	for ; end > 0; look = blockSize {
		if err := p.pause(ctx); err != nil {
			return 0, err
		}
		from := max(0, end-look)
		block, err := p.exactly(p.w.buf[:end-from], from)
		if err != nil {
			return 0, err
		}
		if start := bytes.LastIndexByte(block, '\n') + 1; start > 0 {
			return from + int64(start), nil
		}
		end = sparse.LastData(p.in, from)
	}
	return 0, nil
}

// longLine returns the line between two offsets, newline included, if it is to be kept.
func (p *pass) longLine(start, end int64) ([]Line, error) {
	if end-start > lineLimit {
		head, err := p.exactly(p.w.buf[:cutSize], start)
		if err != nil {
			return nil, err
		}
		p.w.lines = append(p.w.lines[:0], Line{Offset: start, End: end, Data: head, Weight: Matters, Cut: true})
		return p.w.lines, nil
	}
	if int64(cap(p.w.long)) < end-start {
		p.w.long = make([]byte, end-start)
	}
	line, err := p.exactly(p.w.long[:end-start], start)
	if err != nil {
		return nil, err
	}
	return p.sift(line, start), nil
}

// deliver hands lines over. A zero cursor is that of a Back batch.
func (p *pass) deliver(ctx context.Context, lines []Line, cur Cursor) (enough bool, err error) {
	held, at := p.lastBlock()
	enough, err = p.w.opts.Deliver(ctx, Batch{
		Path:        p.path,
		Info:        p.info,
		Block:       held,
		BlockAt:     at,
		File:        p.in,
		Epoch:       p.cur.Epoch(),
		Lines:       lines,
		RenamedFrom: p.renamedFrom,
		Late:        p.late,
		Cursor:      cur,
		Back:        cur.IsZero(),
		Sight:       p.sight,
	})
	if err != nil {
		return false, fmt.Errorf("deliver lines: %w", err)
	}
	if !cur.IsZero() {
		p.kept, p.renamedFrom = cur == p.cur, ""
	}
	return enough, nil
}

// block reads from an offset as much as there is room for, but not beyond end.
func (p *pass) block(room []byte, offset, end int64) ([]byte, error) {
	return p.exactly(room[:min(int64(len(room)), end-offset)], offset)
}

// exactly returns the bytes at an offset. They are read into the room, unless they are still in memory.
func (p *pass) exactly(room []byte, offset int64) ([]byte, error) {
	if held, at := p.lastBlock(); offset >= at && offset+int64(len(room)) <= at+int64(len(held)) {
		return held[offset-at:][:len(room)], nil
	}
	p.read += int64(len(room))
	p.left -= int64(len(room))
	p.w.blockOf = nil
	if err := readAt(p.in, room, offset); err != nil {
		return nil, err
	}
	whole := room
	if offset > 0 && offset != p.cur.Offset { // its first line may begin before it
		_, whole, _ = bytes.Cut(room, []byte("\n"))
	}
	p.w.block, p.w.blockAt, p.w.blockOf = whole, offset+int64(len(room)-len(whole)), p
	return room, nil
}

func (p *pass) sift(block []byte, offset int64) []Line {
	w := p.w
	w.lines = w.lines[:0]
	for line := range bytes.Lines(block) {
		w.lines = w.keepLine(w.lines, line, offset)
		offset += int64(len(line))
	}
	return w.lines
}

func (w *Watcher) keepLine(lines []Line, line []byte, offset int64) []Line {
	data := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if len(data) == 0 { // there may be a million empty lines
		return lines
	}
	weight := Matters
	if w.opts.Sift != nil {
		weight = w.opts.Sift(data)
	}
	if weight == Nothing {
		return lines
	}
	return append(lines, Line{Offset: offset, End: offset + int64(len(line)), Data: data, Weight: weight})
}
