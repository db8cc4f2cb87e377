package lines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"sync"
)

// Span is a part of a file that is searched from its end backwards.
type Span struct {
	Before Line  // the line after it
	Since  int64 // the offset of its first line
	Lines  int   // the maximum number of lines; 0: no bound
}

// Whole returns the span of a whole file.
func Whole(path string) Span { return Last(path, 0) }

// Last returns the span of the last lines of a file; 0: of all.
func Last(path string, most int) Span {
	return Span{Before: Line{Path: path, Offset: math.MaxInt64}, Lines: most}
}

// Back visits the lines of a span from its end backwards, until visit returns false. A last line of the file without a
// newline is visited too; empty lines and very long ones are not. Memory is bounded for any file, and so is the work
// between two checks of ctx; holes of sparse files cost nothing. The file is opened only if its part in memory is not
// enough.
func (s Span) Back(ctx context.Context, visit func(Line) bool) error {
	visited := 0
	bounded := func(line Line) bool {
		if line.Offset < s.Since || !visit(line) {
			return false
		}
		visited++
		return visited != s.Lines
	}
	at := s.Before.Offset - int64(len(s.Before.Before))
	if enough := s.Before.held(bounded); enough || at == 0 {
		return nil
	}
	return back(ctx, s.Before.Path, at, bounded)
}

// Back visits all lines of a file from its end backwards, until visit returns false.
func Back(ctx context.Context, path string, visit func(Line) bool) error {
	return Whole(path).Back(ctx, visit)
}

// Records visits the records of a span, the last first, until read returns false. may reports by
// the bytes of a line whether it is worth parsing.
func Records[R any](ctx context.Context, in Span, may func(line []byte) bool, read func(R, Line) bool) error {
	return in.Back(ctx, func(line Line) bool {
		if !may(line.Data) {
			return true
		}
		r, ok := Parse[R](line.Data)
		return !ok || read(r, line)
	})
}

// Latest caches, per file, what the lines before a line say last. A turn may be long: the part that was searched
// already is not read again. The zero Latest is empty.
type Latest[V any] struct{ files Cache[latest[V]] }

type latest[V any] struct {
	value V
	until int64 // the offset of the line after those that were searched
}

// Before returns what the lines before a line say last, or first if they say nothing or cannot be
// read. search returns what the lines of a span say last.
func (l *Latest[V]) Before(line Line, first V, search func(Span) (V, bool, error)) V {
	known, ok := l.files.Get(line.Path)
	if !ok || line.Offset < known.until {
		known = latest[V]{value: first}
	}
	value, found, err := search(Span{Before: line, Since: known.until})
	if err != nil {
		return known.value
	}
	if found {
		known.value = value
	}
	known.until = line.Offset
	l.files.Put(line.Path, known)
	return known.value
}

// Cache stores a value per file. The zero Cache is empty.
type Cache[V any] struct {
	mu     sync.Mutex
	byPath map[string]V // guarded by mu
}

const maxCached = 512 // more than the sessions that move at a time

// Get returns the value of the file.
func (c *Cache[V]) Get(path string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.byPath[path]
	return v, ok
}

// Put sets the value of the file. A full Cache is emptied first.
func (c *Cache[V]) Put(path string, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byPath == nil || len(c.byPath) >= maxCached {
		c.byPath = make(map[string]V)
	}
	c.byPath[path] = v
}

// Parse is Decode into a new record.
func Parse[R any](data []byte) (record R, ok bool) {
	ok = Decode(data, &record)
	return record, ok
}

// Decode parses a record. A field of an unexpected type stays empty: a change in another version
// must not cost the whole record.
func Decode(data []byte, into any) bool {
	err := json.Unmarshal(data, into)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || mistyped
}

// endSize is how much of either end of a line is searched for a record's fields. Longer values
// are in the middle: an answer, a file, a tool's output.
const endSize = 1 << 10

// Head returns the part of a line that TextAtHead searches.
func Head(line []byte) []byte { return line[:min(len(line), endSize)] }

// TextAtEnds returns a string field of the record in a line of JSON if it is near the beginning
// or the end of the line. Fields of nested values do not count. It does not read the middle, so
// it costs the same for a line of any length; if it finds nothing, the field may still exist.
//
// The text is returned with its escapes.
func TextAtEnds(line []byte, field string) ([]byte, bool) {
	if text, ok := TextAtHead(line, field); ok {
		return text, true
	}
	tail, name, level := line[max(0, len(line)-endSize):], []byte(`"`+field+`"`), 0
	for next := len(tail); ; {
		at := bytes.LastIndex(tail[:next], name)
		if at < 0 {
			return nil, false
		}
		level += nesting(tail[at:next])
		if text, ok := textOf(tail, at, len(name)); ok && level == -1 {
			return text, true
		}
		next = at
	}
}

// TextAtHead is TextAtEnds for the beginning only.
func TextAtHead(line []byte, field string) ([]byte, bool) {
	head, name, level := Head(line), []byte(`"`+field+`"`), 0
	for from, next := 0, 0; ; next = from + len(name) {
		step := bytes.Index(head[next:], name)
		if step < 0 {
			return nil, false
		}
		at := next + step
		level += nesting(head[from:at])
		if text, ok := textOf(head, at, len(name)); ok && level == 1 {
			return text, true
		}
		from = at
	}
}

// nesting returns how many values a piece of JSON opens, less those it closes. It begins and ends
// outside of strings, or its last string is not complete.
func nesting(piece []byte) (levels int) {
	for i := 0; i < len(piece); i++ {
		switch piece[i] {
		case '{', '[':
			levels++
		case '}', ']':
			levels--
		case '"':
			end := closingQuote(piece, i)
			if end < 0 {
				return levels
			}
			i = end
		}
	}
	return levels
}

// textOf returns the string value of the quoted name at that place, or false if that is not a name, or
// its value is not a string.
func textOf(b []byte, at, length int) ([]byte, bool) {
	rest, isName := bytes.CutPrefix(bytes.TrimLeft(b[at+length:], " \t"), []byte(":"))
	rest = bytes.TrimLeft(rest, " \t")
	if !isName || escaped(b, at) || !bytes.HasPrefix(rest, []byte(`"`)) {
		return nil, false
	}
	closing := closingQuote(rest, 0)
	if closing < 0 {
		return nil, false
	}
	return rest[1:closing], true
}

// closingQuote returns the end of the string that begins at open, or -1.
func closingQuote(b []byte, open int) int {
	for i := open + 1; i < len(b); i++ {
		step := bytes.IndexByte(b[i:], '"')
		if step < 0 {
			return -1
		}
		if i += step; !escaped(b, i) {
			return i
		}
	}
	return -1
}

// escaped reports whether the byte at i follows an odd number of backslashes.
func escaped(b []byte, i int) bool {
	n := 0
	for i > n && b[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}
