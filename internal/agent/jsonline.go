package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
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

// SiftByType returns a Sift for records with a field type. The listed types are Moves or Matters,
// all others are Nothing. If the type is not near either end of the line, the types that the line
// contains decide: quotes within a JSON string are escaped, so a type in quotes is found only as a
// name or a value of the record.
func SiftByType(moves, matters []string) func(line []byte) Weight {
	weights := make(map[string]Weight)
	for _, name := range moves {
		weights[name] = Moves
	}
	for _, name := range matters {
		weights[name] = Matters
	}
	return func(line []byte) (weight Weight) {
		if kind, known := TextAtEnds(line, "type"); known {
			return weights[string(kind)]
		}
		for name, w := range weights {
			if w > weight && bytes.Contains(line, []byte(`"`+name+`"`)) {
				weight = w
			}
		}
		return weight
	}
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

// A text longer than longText is cut down to its beginning and its end.
const (
	longText = 8 << 10
	keptHead = 3 << 10
	keptTail = 1 << 10
)

// Lean returns a line of JSON without the middle of its long texts. They are answers, files and
// output of tools, on which the parser would spend most of its time; the meaning of a record is
// in short texts. Everything else stays as it is, also a line that is not JSON.
func Lean(line []byte) []byte {
	var lean []byte
	taken := 0
	for i := 0; len(line)-i > longText; {
		step := bytes.IndexByte(line[i:], '"')
		if step < 0 {
			break
		}
		open := i + step
		end := closingQuote(line, open)
		if end < 0 {
			break
		}
		if end-open > longText {
			from, to := plainPlace(line, open+keptHead, end), plainPlace(line, end-keptTail, end)
			if from < to {
				lean = append(lean, line[taken:from]...)
				lean = append(lean, " … "...)
				taken = to
			}
		}
		i = end + 1
	}
	if lean == nil {
		return line
	}
	return append(lean, line[taken:]...)
}

// longestEscape is the length of a character that needs two escapes.
const longestEscape = len(`\ud83d\ude00`)

// plainPlace returns the first position at or after at where a text can be cut without splitting
// an escape or a character, at the latest end.
func plainPlace(line []byte, at, end int) int {
	for at < end && (bytes.IndexByte(line[at-longestEscape:at], '\\') >= 0 || !utf8.RuneStart(line[at])) {
		at++
	}
	return at
}
