package agent

import "bytes"

// endSize is how far a record's fields are looked for from either end of its
// line. What is longer stands between them: an answer, a file, a tool's output.
const endSize = 1 << 10

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
	return textAtTail(line, field)
}

// Head returns the beginning of a line, as far as TextAtEnds looks.
func Head(line []byte) []byte { return line[:min(len(line), endSize)] }

// TextAtHead is TextAtEnds for a text near the beginning. It walks on until it
// enters what lies in the record: fields that come after that are found from
// the other end, if at all.
func TextAtHead(line []byte, field string) ([]byte, bool) {
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
			if string(head[i+1:end]) == field {
				if text, ok := textOf(head, end); ok {
					return text, true
				}
			}
			i = end
		}
	}
	return nil, false
}

// textAtTail walks back from the record's end. A quote that is met first on
// the way back closes a string, as one that is met first on the way there
// opens it.
func textAtTail(line []byte, field string) ([]byte, bool) {
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
			if depth == 1 && string(tail[start+1:i]) == field {
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
