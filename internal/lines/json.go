package lines

import (
	"bytes"
	"encoding/json"
	"errors"
)

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
