package notify

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cleanLine makes text from elsewhere harmless on one line: no escape
// sequences, no control or direction-changing characters, no line breaks, at
// most limit characters.
func cleanLine(s string, limit int) string {
	return shorten(strings.Join(strings.Fields(cleanText(s)), " "), limit)
}

// cleanText makes text harmless and keeps its line breaks.
func cleanText(s string) string {
	var out strings.Builder
	out.Grow(min(len(s), 4096))
	for i := 0; i < len(s); {
		if n := escapeLen(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\n':
			out.WriteByte('\n')
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			out.WriteByte(' ')
		case invisible(r):
		default:
			out.WriteRune(r) // invalid bytes come as U+FFFD
		}
	}
	return out.String()
}

// escapeLen returns the length of the terminal escape sequence that s begins
// with, or 0. Without it "\x1b[31mred" would leave "[31mred" behind.
func escapeLen(s string) int {
	if s[0] != 0x1b {
		return 0
	}
	if len(s) == 1 {
		return 1
	}
	switch s[1] {
	case '[': // CSI: parameters, then one final byte
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i
			}
		}
		return len(s)
	case ']', 'P', '_', '^', 'X': // strings that end with BEL or ST, on the same line
		for i := 2; i < len(s); i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b:
				if i+1 < len(s) && s[i+1] == '\\' {
					return i + 2
				}
				return i
			case s[i] == '\n':
				return i
			}
		}
		return len(s)
	default:
		return 1
	}
}

// invisible reports characters that change how others are read without being
// seen: directions, zero widths, tags. Joiners stay, for scripts need them.
func invisible(r rune) bool {
	switch {
	case r == '\u061c', r == '\u200b', r == '\u200e', r == '\u200f', r == '\ufeff',
		r >= '\u202a' && r <= '\u202e',
		r >= '\u2060' && r <= '\u206f',
		r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// shorten cuts s to limit characters, the last one an ellipsis.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	count := 0
	cut := 0
	for i := range s {
		if count == limit-1 {
			cut = i
		}
		if count++; count > limit {
			return strings.TrimRight(s[:cut], " \n") + "…"
		}
	}
	return s
}
