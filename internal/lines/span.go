package lines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
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
	return back(ctx, s.Before, at, bounded)
}

// Held returns the bytes of a span, if all of them are in memory.
func (s Span) Held() (held []byte, ok bool) {
	held = s.Before.Before
	rest := int64(len(held)) - (s.Before.Offset - s.Since)
	if rest < 0 {
		return nil, false
	}
	return held[rest:], true
}

// Back visits all lines of a file from its end backwards, until visit returns false.
func Back(ctx context.Context, path string, visit func(Line) bool) error {
	return Whole(path).Back(ctx, visit)
}

// Records visits the records that may pass by their bytes, the last first, until read returns false.
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

// Before returns what search finds before a line, or first if that is nothing or cannot be read. search gets the part that
// was not searched yet, and what the lines before that part say last.
func (l *Latest[V]) Before(line Line, first V, search func(Span, V) (V, bool, error)) V {
	known, ok := l.files.Get(line.Path)
	if !ok || line.Offset < known.until {
		known = latest[V]{value: first}
	}
	value, found, err := search(Span{Before: line, Since: known.until}, known.value)
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

// Decode leaves a field of an unexpected type empty: a change of it must not cost the whole record.
func Decode(data []byte, into any) bool {
	err := json.Unmarshal(data, into)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || mistyped
}

// Needles are texts that lines are searched for before they are parsed. Quotes within a string of JSON are escaped: a word
// in quotes is found only as a name or a value of the record.
type Needles [][]byte

// Any returns the words of which a line must contain one.
func Any(words ...string) Needles {
	all := make(Needles, len(words))
	for i, word := range words {
		all[i] = []byte(word)
	}
	return all
}

// In reports whether a line contains one of the words.
func (w Needles) In(line []byte) bool {
	return slices.ContainsFunc(w, func(word []byte) bool { return bytes.Contains(line, word) })
}

// Field returns what follows the name of a field of the record in a line of JSON: its value, and the rest of the line.
// Fields of nested values do not count. The line may be cut after the value.
func Field(line []byte, name string) (value []byte, ok bool) {
	level := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '{', '[':
			level++
		case '}', ']':
			level--
		case '"':
			end := closingQuote(line, i)
			if end < 0 {
				return nil, false
			}
			rest, isName := bytes.CutPrefix(bytes.TrimLeft(line[end+1:], " \t"), []byte(":"))
			if isName && level == 1 && string(line[i+1:end]) == name {
				return bytes.TrimLeft(rest, " \t"), true
			}
			i = end
		}
	}
	return nil, false
}

// Text returns a string field of the record in a line of JSON, with its escapes.
func Text(line []byte, name string) ([]byte, bool) {
	value, _ := Field(line, name)
	if end := closingQuote(value, 0); end > 0 && value[0] == '"' {
		return value[1:end], true
	}
	return nil, false
}

func closingQuote(b []byte, open int) int {
	for i := open + 1; i < len(b); i++ {
		step := bytes.IndexByte(b[i:], '"')
		if step < 0 {
			return -1
		}
		i += step
		if before := bytes.TrimRight(b[open+1:i], `\`); (i-open-1-len(before))%2 == 0 {
			return i // an even number of backslashes escapes each other
		}
	}
	return -1
}
