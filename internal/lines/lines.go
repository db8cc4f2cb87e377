// Package lines reads files of lines, such as transcripts: from their end backwards, and the fields of a line of JSON
// without parsing all of it.
package lines

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"resumed/internal/sparse"
)

const (
	// maxLine: a record that says why a session stopped is a few kilobytes.
	maxLine = 8 << 20

	blockSize = 256 << 10

	// firstBlock is how much is read first: it mostly contains what is searched.
	firstBlock = 16 << 10
)

// blocks are shared buffers: thousands of sessions may be read, but few at a time.
var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

// Borrow returns a buffer, which is valid until done is called.
func Borrow() (room []byte, done func()) {
	block := blocks.Get().(*[blockSize]byte)
	return block[:], func() { blocks.Put(block) }
}

// Open does not block on a pipe, and needs four system calls less than os.Open.
func Open(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) }

// Line is one complete line of a file.
type Line struct {
	Path    string    // of the file
	Offset  int64     // of the line's first byte
	Data    []byte    // without its newline; valid during the call only
	Cut     bool      // the line is longer than the maximum: Data is its beginning
	ModTime time.Time // of the file, when the line was read

	// Before is the part of the file right before the line that is in memory anyway. It starts
	// at the beginning of a line and is valid during the call only.
	Before []byte

	// File is the open file, or nil if it is not open. Use it with ReadAt, during the call only.
	File *os.File
}

// held visits the lines before a line that are in memory, and reports whether visit returned false.
func (l Line) held(visit func(Line) bool) (enough bool) {
	held, at := l.Before, l.Offset-int64(len(l.Before))
	for {
		if held = bytes.TrimRight(held, "\n"); len(held) == 0 {
			return false
		}
		start := bytes.LastIndexByte(held, '\n') + 1
		data := held[start:]
		held = held[:start]
		if at == 0 && start == 0 {
			data = withoutMark(data)
		}
		if !visit(Line{Path: l.Path, Offset: at + int64(start), Data: data, ModTime: l.ModTime, Before: held}) {
			return true
		}
	}
}

// back visits the lines of a line's file before an offset at which a line begins. Lines longer than maxLine are skipped.
func back(ctx context.Context, l Line, offset int64, visit func(Line) bool) error {
	f, changed := l.File, l.ModTime
	if f == nil {
		var err error
		if f, err = Open(l.Path); err != nil {
			return fmt.Errorf("open transcript: %w", err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("stat transcript: %w", err)
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("read transcript: %s is not a regular file", l.Path)
		}
		offset, changed = min(offset, info.Size()), info.ModTime()
	}
	block, done := Borrow()
	defer done()
	r := backReader{ctx: ctx, f: f, block: block[:firstBlock]}
	for end := offset; end > 0; {
		start, err := r.lineStart(end)
		if err != nil {
			return fmt.Errorf("read transcript: %w", err)
		}
		if start < end && end-start <= maxLine {
			data, err := r.slice(start, end)
			if err != nil {
				return fmt.Errorf("read transcript: %w", err)
			}
			if start == 0 {
				data = withoutMark(data)
			}
			if !visit(Line{Path: l.Path, Offset: start, Data: data, ModTime: changed}) {
				return nil
			}
		}
		end = r.text(start - 1) // before the newline before it
	}
	return nil
}

// backReader reads a file backwards, one block at a time.
type backReader struct {
	ctx   context.Context
	f     *os.File
	block []byte // its length is the size of the next block
	at    int64  // the file offset of the block
	held  int    // how many bytes of block are valid

	long []byte // a line longer than a block
}

func (r *backReader) lineStart(end int64) (int64, error) {
	for pos := end; pos > 0; pos = r.at {
		if pos <= r.at || pos > r.at+int64(r.held) {
			if pos = sparse.LastData(r.f, pos); pos == 0 {
				break
			}
			if err := r.load(pos); err != nil {
				return 0, err
			}
		}
		if i := bytes.LastIndexByte(r.block[:pos-r.at], '\n'); i >= 0 {
			return r.at + int64(i) + 1, nil
		}
	}
	return 0, nil
}

// text returns end without the empty lines before it: there may be a billion of them.
func (r *backReader) text(end int64) int64 {
	if end <= r.at || end > r.at+int64(r.held) {
		return end
	}
	return r.at + int64(len(bytes.TrimRight(r.block[:end-r.at], "\n")))
}

func (r *backReader) load(pos int64) error {
	if err := r.ctx.Err(); err != nil {
		return context.Cause(r.ctx)
	}
	if r.held > 0 {
		r.block = r.block[:cap(r.block)]
	}
	n := min(int64(len(r.block)), pos)
	r.at, r.held = pos-n, 0
	got, err := r.f.ReadAt(r.block[:n], r.at)
	if int64(got) < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // the file shrank while it was read
		}
		return err
	}
	r.held = got
	return nil
}

func (r *backReader) slice(start, end int64) ([]byte, error) {
	if start >= r.at && end <= r.at+int64(r.held) {
		return r.block[start-r.at : end-r.at], nil
	}
	if need := int(end - start); cap(r.long) < need {
		r.long = make([]byte, need)
	}
	data := r.long[:end-start]
	if n, err := r.f.ReadAt(data, start); n < len(data) {
		return nil, err
	}
	return data, nil
}

// Beginning returns the file's content before the line, if all of it is in memory.
func (l Line) Beginning() (begin []byte, ok bool) {
	if l.Offset == 0 || int64(len(l.Before)) != l.Offset {
		return nil, false
	}
	return withoutMark(l.Before), true
}

// Opening reads the beginning of a line's file into room; empty: it cannot be read.
func (l Line) Opening(room []byte) []byte {
	file := l.File
	if file == nil {
		opened, err := Open(l.Path)
		if err != nil {
			return nil
		}
		defer opened.Close()
		file = opened
	}
	n, _ := file.ReadAt(room, 0) // a partial read may be enough
	return withoutMark(room[:n])
}

// First returns the first line of a line's file, without its newline; nil: it cannot be read.
func (l Line) First() []byte {
	if begin, held := l.Beginning(); held {
		first, _, _ := bytes.Cut(begin, []byte("\n"))
		return first
	}
	file, err := Open(l.Path)
	if err != nil {
		return nil
	}
	defer file.Close()
	first, _ := bufio.NewReader(io.LimitReader(file, maxLine)).ReadBytes('\n') // the caller judges a partial read
	return bytes.TrimSuffix(withoutMark(first), []byte("\n"))
}

// withoutMark removes the byte order mark with which some editors begin a text.
func withoutMark(begin []byte) []byte { return bytes.TrimPrefix(begin, []byte("\ufeff")) }
