package token

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isGlyph reports whether r is a letter of a script without blanks between words, or with attached
// endings.
func isGlyph(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー'
}

// glyphWords are the known words in such scripts by their first letter, longer ones first: there are no
// blanks to split at.
var glyphWords = map[rune][]string{}

// LearnGlyphs adds a word in such a script.
func LearnGlyphs(w string) {
	r, _ := utf8.DecodeRuneInString(w)
	if !isGlyph(r) {
		return
	}
	if words := glyphWords[r]; !slices.Contains(words, w) {
		glyphWords[r] = slices.SortedStableFunc(slices.Values(append(words, w)), func(a, b string) int { return len(b) - len(a) })
	}
}

// glyphs takes the longest known word, or one letter. These scripts have no lower case, and adjacent
// words do not form an identifier.
func (l *lexer) glyphs() {
	start := l.pos
	r, size := utf8.DecodeRuneInString(l.src[start:])
	text := l.src[start : start+size]
	for _, w := range glyphWords[r] {
		if strings.HasPrefix(l.src[start:], w) {
			text = w
			break
		}
	}
	l.pos += len(text)
	l.parted = true
	l.emit(Token{Text: text, Start: start, End: l.pos, Kind: Word, Upper: true})
	l.parted = true
}
