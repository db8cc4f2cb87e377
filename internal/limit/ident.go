package limit

import (
	"strings"
	"unicode/utf8"
)

// isCode reports words that are a name in a program: requestTimeout, or
// ConnectionError in a list of such names; or one word of a sentence in small
// letters.
func (m *message) isCode(p, end int) bool {
	if m.toks[p].kind != word || p+1 >= len(m.toks) || m.src[m.toks[p].start] >= utf8.RuneSelf {
		return false
	}
	next := m.toks[p+1]
	if end == p+1 && next.is(",") && !next.first {
		return true // one of several
	}
	if !m.toks[p].upper && next.kind == word && (next.glued || end == p+1 && !next.first) {
		return true
	}
	after := m.identifier(p)
	if after < end || after == p+1 {
		return false
	}
	if last := m.toks[after-1]; after > end && !last.is("error") && !last.is("exception") {
		return true // the name goes on: SSL_ERROR_WANT_READ
	}
	return after < len(m.toks) && !m.toks[after].first && strings.Contains(",=(", m.toks[after].text)
}

// identifier returns the position after the name that begins at toks[p]: words
// that are joined as programs join them, not by a hyphen.
func (m *message) identifier(p int) int {
	for p++; p < len(m.toks) && m.toks[p].kind <= number; p++ {
		if joint := m.src[m.toks[p-1].end:m.toks[p].start]; joint != "" && joint != "_" && joint != "." {
			break
		}
	}
	return p
}

// codeIndent is how far in the least of source code stands.
const codeIndent = 4

// beginsAsCode reports a line that begins as lines of programs do: with
// a string, with a name that is given a value, or far in with a name or in small
// letters. What agents set in begins with what they draw before it.
func (m *message) beginsAsCode(i int) bool {
	t := m.toks[i]
	if t.start > 0 && m.src[t.start-1] == '\'' {
		return true
	}
	if t.kind != word {
		return false
	}
	after := m.identifier(i)
	name := after > i+1
	switch {
	case name && after < len(m.toks) && m.toks[after].is("=") && m.toks[after].spaces > 0:
		return true
	default:
		return t.spaces >= codeIndent && (name || !t.upper)
	}
}
