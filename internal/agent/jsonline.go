package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"
)

// Parse reads a record as Decode does.
func Parse[R any](data []byte) (record R, ok bool) {
	ok = Decode(data, &record)
	return record, ok
}

// Decode reads a record. A field of an unexpected type is left empty: what another
// version changed must not cost the record.
func Decode(data []byte, into any) bool {
	err := json.Unmarshal(data, into)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || mistyped
}

var typeFirst = []byte(`{"type":`)

// SiftByType returns a sieve for records that have their type in a field type, which
// mostly is the first one: of these types some move and some matter, all others are worth
// nothing. Within a JSON string a quote is escaped, so a type in quotes stands only where a
// record itself has it.
func SiftByType(moves, matters []string) func(line []byte) Weight {
	var quoted [][]byte
	for _, name := range slices.Concat(moves, matters) {
		quoted = append(quoted, []byte(`"`+name+`"`))
	}
	return func(line []byte) Weight {
		rest, first := bytes.CutPrefix(line, typeFirst)
		for i, name := range quoted {
			switch found := first && bytes.HasPrefix(rest, name) || !first && bytes.Contains(line, name); {
			case found && i < len(moves):
				return Moves
			case found:
				return Matters
			}
		}
		return Nothing
	}
}

// endSize is how far a record's fields are looked for from either end of its
// line. What is longer stands between them: an answer, a file, a tool's output.
const endSize = 1 << 10

// Head returns the beginning of a line, as far as TextAtHead looks.
func Head(line []byte) []byte { return line[:min(len(line), endSize)] }

// TextAtEnds returns a text of the record that a line of JSON holds, one of
// the record itself and not of what lies in it, where it stands near the line's
// beginning or its end. It looks at no byte in between, so it costs the same
// for a line of any length; where it finds nothing, nothing is known.
//
// The text is as the line has it, with its escapes.
func TextAtEnds(line []byte, field string) ([]byte, bool) {
	if text, ok := TextAtHead(line, field); ok {
		return text, true
	}
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
		case '"': // met first on the way back, it closes a string
			start := openingQuote(tail, i)
			if start < 0 {
				return nil, false
			}
			if depth == 1 && string(tail[start+1:i]) == field {
				if text, ok := textAfter(tail, i); ok {
					return text, true
				}
			}
			i = start
		}
	}
	return nil, false
}

// TextAtHead is TextAtEnds for a text near the beginning. It ends where something lies in
// the record: fields after that are found from the other end, if at all.
func TextAtHead(line []byte, field string) ([]byte, bool) {
	head := Head(line)
	start := bytes.IndexByte(head, '{')
	if start < 0 {
		return nil, false
	}
	// Mostly no text before it has a brace: then a search for the name is enough.
	name := []byte(`"` + field + `":"`)
	if at := bytes.Index(head, name); at > start && !bytes.ContainsAny(head[start+1:at], "{[") {
		if end := closingQuote(head, at+len(name)-1); end > 0 {
			return head[at+len(name) : end], true
		}
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
			if string(head[i+1:end]) == field {
				if text, ok := textAfter(head, end); ok {
					return text, true
				}
			}
			i = end
		}
	}
	return nil, false
}

// textAfter returns the text that belongs to the name whose closing quote is at
// end, or false where it is no name, or not of a text.
func textAfter(b []byte, end int) ([]byte, bool) {
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

// A text longer than longText is cut down to its beginning and its end.
const (
	longText = 8 << 10
	keptHead = 3 << 10
	keptTail = 1 << 10
)

// Lean returns a line of JSON with the middle of its long texts left out. What
// a record means is said in few words, and the parser spends most of its time on
// the others: answers, files, what tools print. Anything else is returned as it
// is, and so is a line that is no JSON.
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

// longestEscape is that of a character that needs two of them.
const longestEscape = len(`\ud83d\ude00`)

// plainPlace returns the first place of a text at or after at where it may be cut, at the
// latest its end: neither an escape nor a character is torn there.
func plainPlace(line []byte, at, end int) int {
	for at < end && (bytes.IndexByte(line[at-longestEscape:at], '\\') >= 0 || !utf8.RuneStart(line[at])) {
		at++
	}
	return at
}
