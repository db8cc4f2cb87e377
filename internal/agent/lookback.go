package agent

import (
	"context"
	"math"
)

// Span is a part of a transcript that is searched from its end backwards.
type Span struct {
	Before Line  // the line after it
	Since  int64 // the offset of its first line
	Lines  int   // the maximum number of lines; 0: no bound
}

// Whole returns the span of a whole transcript.
func Whole(path string) Span { return Span{Before: Line{Path: path, Offset: math.MaxInt64}} }

// Visit visits the records of a span, the last first, until read returns false. may reports by
// the bytes of a line whether it is worth parsing.
func Visit[R any](ctx context.Context, in Span, may func(line []byte) bool, read func(R, Line) bool) error {
	visited := 0
	return LinesBefore(ctx, in.Before, func(line Line) bool {
		if line.Offset < in.Since {
			return false
		}
		if !line.Cut && may(line.Data) {
			if r, ok := Parse[R](line.Data); ok && !read(r, line) {
				return false
			}
		}
		visited++
		return visited != in.Lines
	})
}

// Latest caches, per transcript, what the lines before a line say last. A turn may be long: the
// part that was searched already is not read again. The zero Latest is empty.
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
