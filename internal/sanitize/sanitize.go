// Package sanitize makes foreign text harmless: what an agent or a provider wrote must not move a
// cursor, forge a line or change the writing direction in the terminal, log or notice that shows it.
package sanitize

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"resumed/internal/lazy"
)

// Sentence is how many characters of a program's message are kept for people.
const Sentence = 300

// escapes are escape sequences of terminals, also truncated ones. None extends beyond its line:
// otherwise one without an end would hide everything after it.
var escapes = lazy.Regexp(
	`(?:\x1b\[|\x{9b})[0-?]*[ -/]*(?:[@-~]|$)` + // colours, cursor
		`|(?:\x1b[\]PX^_]|[\x{9d}\x{90}\x{98}\x{9e}\x{9f}])[^\x07\x1b\x{9c}\n]*(?:\x07|\x1b\\|\x{9c})?` + // titles, links, clipboard
		`|\x1b[ -/]*[0-~]?`) // all other sequences

// Text returns s without escape sequences, invisible characters and characters that change the writing
// direction. Tabs stay, and every kind of line break becomes a newline.
func Text(s string) string {
	if isASCII(s, "\n\t") {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	mayBegin := func(r rune) bool { return r == '\x1b' || r >= 0x80 && r <= 0x9f }
	if strings.ContainsFunc(s, mayBegin) { // most text has none, and the expression is slow
		s = escapes().ReplaceAllString(s, "")
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(visible, s)
}

// Line returns Text(s) as one line, without repeated spaces.
func Line(s string) string {
	s = Text(s)
	if isLine(s) {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// isLine reports whether s has no white space except single spaces between words. It returns false for
// text beyond ASCII, which may have other spaces.
func isLine(s string) bool {
	before := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= utf8.RuneSelf || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return s == "" || before != ' '
}

// Short returns Line(s), cut to at most n characters.
func Short(s string, n int) string { return Cut(Line(s), n) }

// Cut returns at most n characters of s, the last one an ellipsis if some are missing.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count, end := 0, 0
	for i := range s {
		if count == n-1 {
			end = i
		}
		if count++; count > n {
			return strings.TrimRight(s[:end], " \n") + "…"
		}
	}
	return s
}

// isASCII reports whether s has only visible ASCII characters and the allowed white space. Nearly all
// text is like that, and needs no change.
func isASCII[T string | []byte](s T, space string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && strings.IndexByte(space, c) < 0 || c >= 0x7f {
			return false
		}
	}
	return true
}

func visible(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r == '\r' || r == '\u2028' || r == '\u2029':
		return '\n'
	case r == '\u200c' || r == '\u200d': // they only join letters and emoji
		return r
	case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r):
		return -1
	default:
		return r
	}
}

// Escape returns JSON, or a line of a log, in which all invisible characters and those that change the
// writing direction are escaped as in JSON. encoding/json and log/slog escape only some of them. The
// meaning of the JSON stays the same. Newlines stay.
func Escape(text []byte) []byte {
	if isASCII(text, "\n") || !bytes.ContainsFunc(text, concealed) {
		return text
	}
	safe := make([]byte, 0, len(text)+32)
	for _, r := range string(text) {
		high, low := utf16.EncodeRune(r)
		switch {
		case !concealed(r):
			safe = utf8.AppendRune(safe, r)
		case high != utf8.RuneError:
			safe = fmt.Appendf(safe, `\u%04x\u%04x`, high, low)
		default:
			safe = fmt.Appendf(safe, `\u%04x`, r)
		}
	}
	return safe
}

func concealed(r rune) bool {
	return r != '\n' && (r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp))
}

// ShellWord returns text as one word for a shell: unchanged if no character is special to any shell,
// otherwise quoted.
func ShellWord(s string) string {
	if s != "" && s[0] != '=' && !strings.ContainsFunc(s, isSpecial) { // some shells replace a = at the beginning
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func isSpecial(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("/._+,:@%=-", r)
}
