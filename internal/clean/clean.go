// Package clean makes text from elsewhere harmless: what an agent or a
// provider wrote must not move a cursor, forge a line or turn words around on
// the terminal, in the log or in the notice that shows it.
package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns s as one line: escape sequences and characters that cannot be
// seen are gone, breaks and tabs are spaces, and spaces do not pile up.
func Line(s string) string {
	return strings.Join(strings.Fields(Text(s)), " ")
}

// Text returns s without escape sequences and without characters that cannot
// be seen, but for line breaks and tabs.
func Text(s string) string {
	if harmless(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := escape(s[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune('\uFFFD')
		case r == '\n' || r == '\t' || visible(r):
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// Short returns Line(s), cut to at most n characters with an ellipsis.
func Short(s string, n int) string {
	s = Line(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return strings.TrimRight(string(runes[:max(0, n-1)]), " ") + "…"
}

func harmless(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

// visible reports whether a person sees r, or sees the space it takes.
// Formatting characters are not: among them are those that turn the direction
// of the text.
func visible(r rune) bool {
	switch {
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return r == '\u200d' // joins emoji
	default:
		return true
	}
}

// escape returns the length of the terminal sequence that s begins with, or 0.
func escape(s string) int {
	switch {
	case strings.HasPrefix(s, "\x1b["):
		return 2 + controlSequence(s[2:])
	case strings.HasPrefix(s, "\u009b"):
		return len("\u009b") + controlSequence(s[len("\u009b"):])
	case len(s) >= 2 && s[0] == 0x1b && strings.IndexByte("]PX^_", s[1]) >= 0:
		return 2 + stringSequence(s[2:])
	case len(s) >= 2 && s[0] == 0x1b && s[1] >= ' ' && s[1] < 0x7f:
		return 2
	default:
		return 0
	}
}

// controlSequence returns the length of a CSI sequence's parameters and final byte.
func controlSequence(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return i // not a sequence after all
		}
	}
	return len(s)
}

// stringSequence returns the length of an OSC, DCS, SOS, PM or APC string with
// its terminator. One that does not end hides nothing but its introducer.
func stringSequence(s string) int {
	for i := range len(s) {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case s[i] == '\n':
			return 0
		}
	}
	return 0
}
