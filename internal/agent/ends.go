package agent

import (
	"bytes"
	"strings"
)

// Field is the name of a text, ready to be looked for.
type Field struct {
	name   string
	quoted string // as it is written without spaces, up to where the text begins
	at     int    // where in that a byte stands that is rare in transcripts
}

// FieldOf returns the field of that name.
func FieldOf(name string) Field {
	quoted := `"` + name + `":"`
	return Field{name, quoted, max(1, strings.IndexByte(quoted, 'y'), strings.IndexByte(quoted, 'w'))}
}

// endSize is how far a record's fields are looked for from either end of its
// line. What is longer stands between them: an answer, a file, a tool's output.
const endSize = 1 << 10

// TextAtEnds returns a text of the record that a line of JSON holds, one of
// the record itself and not of what lies in it, where it stands near the line's
// beginning or its end. It looks at no byte in between, so it costs the same
// for a line of any length; where it finds nothing, nothing is known.
//
// The text is as the line has it, with its escapes.
func TextAtEnds(line []byte, field Field) ([]byte, bool) {
	if text, ok := plainHead(line, field); ok {
		return text, true
	}
	if text, ok := plainTail(line, field); ok {
		return text, true
	}
	if text, ok := walkHead(line, field); ok {
		return text, true
	}
	return walkTail(line, field)
}

// plainHead finds the text where nothing before it is more than names, texts and
// numbers, as in nearly every line. It is several times faster than the walk, and
// where it finds nothing, that says nothing.
func plainHead(line []byte, field Field) ([]byte, bool) {
	head := Head(line)
	if len(head) == 0 || head[0] != '{' {
		return nil, false
	}
	if first := len(field.quoted) + 1; len(head) > first && string(head[1:first]) == field.quoted {
		return textFrom(head, first)
	}
	at := field.value(head, 0)
	if at < 0 {
		return nil, false
	}
	if bytes.IndexByte(head[1:at-len(field.quoted)], '{') >= 0 { // only where an object begins do names of others stand
		return nil, false
	}
	return textFrom(head, at)
}

// nearEnd is how far from a line's end its plain fields mostly stand.
const nearEnd = 512

// plainTail is plainHead from the line's end.
func plainTail(line []byte, field Field) ([]byte, bool) {
	tail := line[max(0, len(line)-nearEnd):]
	at := field.lastValue(tail)
	if at < 0 && len(tail) < len(line) {
		tail = line[max(0, len(line)-endSize):]
		at = field.lastValue(tail)
	}
	if at < 0 {
		return nil, false
	}
	text, ok := textFrom(tail, at)
	if !ok || !plainlyEnds(tail[at:]) && !ends(tail[at+len(text)+1:]) {
		return nil, false
	}
	return text, true
}

// plainlyEnds reports whether the object that this is the end of is the record itself: it is closed
// by the last byte, and nothing else is closed before.
func plainlyEnds(b []byte) bool { return bytes.IndexByte(b, '}') == len(b)-1 }

// ends reports whether what comes after a value of a record is the rest of the record itself,
// and not of what lies in it.
func ends(b []byte) bool {
	depth := 1
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = closingQuote(b, i); i < 0 {
				return false
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i == len(b)-1
			}
		}
	}
	return false
}

// HasText reports whether a line that is written without spaces has, wherever in its
// records, a field of one of these texts.
func HasText(line []byte, field Field, texts ...string) bool {
	for at := field.value(line, 0); at >= 0; at = field.value(line, at) {
		for _, text := range texts {
			if rest := line[at:]; len(rest) > len(text) && rest[len(text)] == '"' && string(rest[:len(text)]) == text {
				return true
			}
		}
	}
	return false
}

func (f *Field) lastValue(b []byte) int {
	at := -1
	for next := f.value(b, 0); next >= 0; next = f.value(b, next) {
		at = next
	}
	return at
}

// value returns where the text begins that stands behind the name, written without
// spaces, at or after from; -1 where there is none. No text of JSON can hold such a
// name: its quotes would be escaped.
func (f *Field) value(b []byte, from int) int {
	rare, next := f.quoted[f.at], f.quoted[f.at+1]
	for i := from + f.at + 1; ; i++ {
		if i >= len(b) {
			return -1
		}
		step := bytes.IndexByte(b[i:], rare)
		i += step
		end := i - f.at + len(f.quoted)
		if step < 0 || end > len(b) {
			return -1
		}
		if b[i+1] != next {
			continue
		}
		if start := i - f.at; string(b[start:end]) == f.quoted && (b[start-1] == ',' || b[start-1] == '{') {
			return end
		}
	}
}

// textFrom returns the text that begins at a place.
func textFrom(b []byte, at int) ([]byte, bool) {
	end := closingQuote(b, at-1)
	if end < 0 {
		return nil, false
	}
	return b[at:end], true
}

// Head returns the beginning of a line, as far as TextAtEnds looks.
func Head(line []byte) []byte { return line[:min(len(line), endSize)] }

// TextAtHead is TextAtEnds for a text near the beginning.
func TextAtHead(line []byte, field Field) ([]byte, bool) {
	if text, ok := plainHead(line, field); ok {
		return text, true
	}
	return walkHead(line, field)
}

// walkHead walks on until it enters what lies in the record: fields that come after
// that are found from the other end, if at all.
func walkHead(line []byte, field Field) ([]byte, bool) {
	head := Head(line)
	start := bytes.IndexByte(head, '{')
	if start < 0 {
		return nil, false
	}
	for i := start + 1; i < len(head); i++ {
		switch head[i] {
		case '{', '[', '}':
			return nil, false
		case '"':
			end := closingQuote(head, i)
			if end < 0 {
				return nil, false
			}
			if string(head[i+1:end]) == field.name {
				if text, ok := textOf(head, end); ok {
					return text, true
				}
			}
			i = end
		}
	}
	return nil, false
}

// walkTail walks back from the record's end. A quote that is met first on
// the way back closes a string, as one that is met first on the way there
// opens it.
func walkTail(line []byte, field Field) ([]byte, bool) {
	tail := line[max(0, len(line)-endSize):]
	depth := 0
	for i := len(tail) - 1; i >= 0; i-- {
		switch tail[i] {
		case '}', ']':
			depth++
		case '{', '[':
			if depth--; depth <= 0 {
				return nil, false
			}
		case '"':
			start := openingQuote(tail, i)
			if start < 0 {
				return nil, false
			}
			if depth == 1 && string(tail[start+1:i]) == field.name {
				if text, ok := textOf(tail, i); ok {
					return text, true
				}
			}
			i = start
		}
	}
	return nil, false
}

// textOf returns the text that belongs to the name whose closing quote is at
// end, or false where it is no name, or not of a text.
func textOf(b []byte, end int) ([]byte, bool) {
	rest := bytes.TrimLeft(b[end+1:], " \t")
	if len(rest) == 0 || rest[0] != ':' {
		return nil, false
	}
	rest = bytes.TrimLeft(rest[1:], " \t")
	if len(rest) == 0 || rest[0] != '"' {
		return nil, false
	}
	closing := closingQuote(rest, 0)
	if closing < 0 {
		return nil, false
	}
	return rest[1:closing], true
}

// closingQuote returns where the string ends that begins at open, or -1.
func closingQuote(b []byte, open int) int {
	for i := open + 1; i < len(b); {
		step := bytes.IndexByte(b[i:], '"')
		if step < 0 {
			return -1
		}
		if i += step; !escaped(b, i) {
			return i
		}
		i++
	}
	return -1
}

// openingQuote returns where the string begins that ends at closing, or -1.
func openingQuote(b []byte, closing int) int {
	for i := closing - 1; i >= 0; i-- {
		if b[i] == '"' && !escaped(b, i) {
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
