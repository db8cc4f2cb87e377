package agent

import (
	"bytes"
	"strings"
)

// Mark is what lines are searched for, by a byte of it that is rare where it is looked for.
// bytes.Index begins with the first byte, which in JSON is mostly a quote.
type Mark struct {
	text string
	at   int // of that byte
}

// MarkBy returns the mark of a text that is found by a byte of it, which is not its last.
func MarkBy(text string, rare byte) Mark {
	return Mark{text, strings.IndexByte(text[:len(text)-1], rare)}
}

// In reports whether the mark stands there.
func (m Mark) In(b []byte) bool {
	_, _, found := m.Cut(b)
	return found
}

// Cut is bytes.Cut.
func (m Mark) Cut(b []byte) (before, after []byte, found bool) {
	rare, next := m.text[m.at], m.text[m.at+1]
	for i := m.at; i < len(b); i++ {
		step := bytes.IndexByte(b[i:], rare)
		i += step
		start := i - m.at
		end := start + len(m.text)
		if step < 0 || end > len(b) {
			break
		}
		if b[i+1] == next && string(b[start:end]) == m.text {
			return b[:start], b[end:], true
		}
	}
	return b, nil, false
}
