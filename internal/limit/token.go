package limit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is made of.
type kind uint8

const (
	word   kind = iota // letters; lower case, apostrophes dropped
	number             // digits, with a fraction where there is one
	mark               // punctuation that parts or joins clauses
	sign               // any other symbol: bullets, frames, emoji
	link               // a whole URL: its words say nothing about limits
)

// token is one piece of a message. Words are in lower case and broken where
// identifiers are ("rate_limit_error", "rateLimitExceeded" and "rate-limit"
// all begin with the words rate and limit), so that codes and prose are read
// by the same phrases.
type token struct {
	text       string
	id         wordID
	start, end int // in the tokenized string
	kind       kind
	spaces     uint8 // blanks before it, counted up to 255; a tab is several
	glued      bool  // nothing before it, not even a separator
	first      bool  // first of its line
	upper      bool  // begins with an upper-case letter
}

func (t token) is(text string) bool { return t.text == text }

// marks maps what parts clauses to one spelling each.
var marks = map[rune]string{
	'.': ".", '!': "!", '?': "?", ';': ";", ':': ":", ',': ",",
	'(': "(", ')': ")", '[': "[", ']': "]", '{': "{", '}': "}",
	'"': `"`, '“': `"`, '”': `"`, '`': `"`,
	'·': "·", '∙': "·", '•': "·", '⋅': "·",
	'—': "—", '–': "—", '-': "—",
	'|': "|", '/': "/", '…': "…", '%': "%", '=': "=", '+': "+", '~': "~",
	'>': ">", '<': "<", '#': "#", '$': "$", '*': "*", '@': "@", '&': "&",
	'。': ".", '！': "!", '？': "?", '；': ";", '：': ":", '，': ",", '、': ",",
	'（': "(", '）': ")", '「': `"`, '」': `"`, '−': "—",
}

// lexer cuts a string into tokens.
type lexer struct {
	src   string
	lower string // src with ASCII letters in lower case; the same offsets
	pos   int
	out   []token

	spaces uint8
	fresh  bool // at the beginning of a line
	parted bool // a separator came since the last token
}

func tokenize(s string) []token {
	l := lexer{src: s, lower: asciiLower(s), fresh: true, parted: true}
	l.out = make([]token, 0, len(s)/4+4)
	for l.pos < len(s) {
		l.step()
	}
	return l.out
}

// asciiLower keeps every offset, which strings.ToLower does not.
func asciiLower(s string) string {
	lower := []byte(s)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

// tabWidth makes a tab as wide as the columns of a table are apart.
const tabWidth = 8

func (l *lexer) step() {
	r, size := utf8.DecodeRuneInString(l.src[l.pos:])
	switch {
	case r == '\n' || r == '\r':
		l.fresh, l.parted, l.spaces = true, true, 0
		l.pos += size
	case r == ' ' || r == '\t' || r == '\u00a0' || r == '\u202f' || r == '\u2009' || r == utf8.RuneError:
		l.parted = true
		l.spaces = min(l.spaces, 255-tabWidth) + 1
		if r == '\t' {
			l.spaces += tabWidth - 1
		}
		l.pos += size
	case r == '\\':
		l.escape()
	case isApostrophe(r) || r == '_' || r == '-' && l.between() || r == '.' && l.before():
		l.parted = true
		l.pos += size
	case isDigit(r):
		l.number()
	case isGlyph(r):
		l.glyphs()
	case unicode.IsLetter(r):
		l.word()
	default:
		l.symbol(r, size)
	}
}

func isApostrophe(r rune) bool {
	return r == '\'' || r == '’' || r == '‘' || r == '´' || r == 'ʼ'
}
func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// between reports whether the hyphen at hand joins two words.
func (l *lexer) between() bool {
	return l.pos > 0 && isAlnum(l.src[l.pos-1]) && l.before()
}

// before reports whether a letter or digit follows the byte at hand.
func (l *lexer) before() bool { return l.pos+1 < len(l.src) && isAlnum(l.src[l.pos+1]) }

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// escape passes over the backslash of a quoted string; an escaped blank is a
// blank.
func (l *lexer) escape() {
	l.pos++
	if l.pos < len(l.src) && strings.IndexByte("nrt", l.src[l.pos]) >= 0 {
		l.parted = true
		l.pos++
	}
}

func (l *lexer) emit(t token) {
	t.spaces, t.first = l.spaces, l.fresh
	t.glued = !l.parted
	if t.kind == word || t.kind == mark {
		t.id = vocabulary[t.text]
	}
	l.spaces, l.fresh, l.parted = 0, false, false
	l.out = append(l.out, t)
}

func (l *lexer) number() {
	start := l.pos
	l.digits()
	text := l.src[start:l.pos]
	switch {
	case l.at('.') && l.before() && isDigit(rune(l.src[l.pos+1])) && !l.dotted():
		l.pos++
		l.digits()
		text = l.src[start:l.pos]
	case l.thousands():
		for l.thousands() {
			l.pos += 4
		}
		text = strings.ReplaceAll(l.src[start:l.pos], ",", "")
	}
	l.emit(token{text: text, start: start, end: l.pos, kind: number})
}

func (l *lexer) digits() {
	for l.pos < len(l.src) && isDigit(rune(l.src[l.pos])) {
		l.pos++
	}
}

func (l *lexer) at(c byte) bool { return l.pos < len(l.src) && l.src[l.pos] == c }

// dotted reports whether the number at hand is part of an address or a
// version, such as 2.1.325.
func (l *lexer) dotted() bool {
	i := l.pos + 1
	for i < len(l.src) && isDigit(rune(l.src[i])) {
		i++
	}
	return i+1 < len(l.src) && l.src[i] == '.' && isDigit(rune(l.src[i+1]))
}

// thousands reports whether a group such as ",000" follows.
func (l *lexer) thousands() bool {
	if !l.at(',') || l.pos+4 > len(l.src) {
		return false
	}
	for _, c := range l.src[l.pos+1 : l.pos+4] {
		if !isDigit(c) {
			return false
		}
	}
	return l.pos+4 == len(l.src) || !isDigit(rune(l.src[l.pos+4]))
}

func (l *lexer) word() {
	if rest := l.lower[l.pos:]; strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://") {
		l.url()
		return
	}
	start := l.pos
	if n := l.brand(); n > 0 {
		l.pos += n
		l.emit(token{text: l.lower[start:l.pos], start: start, end: l.pos, kind: word, upper: isUpper(l.src[start])})
		return
	}
	prev := rune(0)
	apostrophe, wide := false, false
	for l.pos < len(l.src) {
		r, size := utf8.DecodeRuneInString(l.src[l.pos:])
		if isApostrophe(r) && prev != 0 && l.letterAt(l.pos+size) {
			apostrophe = true
		} else if !unicode.IsLetter(r) || isGlyph(r) || unicode.IsUpper(r) && (unicode.IsLower(prev) || l.acronymEnds(start)) {
			break
		} else {
			prev, wide = r, wide || size > 1
		}
		l.pos += size
	}
	text := l.lower[start:l.pos]
	if wide {
		text = strings.ToLower(text)
	}
	if apostrophe {
		text = dropApostrophes(text)
	}
	first, _ := utf8.DecodeRuneInString(l.src[start:])
	l.emit(token{text: text, start: start, end: l.pos, kind: word, upper: unicode.IsUpper(first)})
}

// brands are names that are one word in spite of the capital inside.
var brands = []string{"openai", "openrouter", "opencode", "chatgpt", "deepseek", "litellm", "xai"}

// brand returns the length of the brand that begins here, or 0.
func (l *lexer) brand() int {
	for _, name := range brands {
		if end := l.pos + len(name); l.src[l.pos]|0x20 == name[0] && strings.HasPrefix(l.lower[l.pos:], name) &&
			(end == len(l.src) || !isLower(l.src[end])) {
			return len(name)
		}
	}
	return 0
}

// acronymEnds reports whether the capital at hand begins a word after an
// acronym: the C of APICall, but neither the A of OAuth nor the I of APIs.
func (l *lexer) acronymEnds(start int) bool {
	if l.pos-start < 2 || l.pos+2 >= len(l.src) || !isUpper(l.src[l.pos-1]) {
		return false
	}
	return isLower(l.src[l.pos+1]) && isLower(l.src[l.pos+2])
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

func (l *lexer) letterAt(i int) bool {
	r, _ := utf8.DecodeRuneInString(l.src[min(i, len(l.src)):])
	return unicode.IsLetter(r)
}

func dropApostrophes(s string) string {
	return strings.Map(func(r rune) rune {
		if isApostrophe(r) {
			return -1
		}
		return r
	}, s)
}

// url passes over an address up to a blank or a closing mark.
func (l *lexer) url() {
	start := l.pos
	if i := strings.IndexAny(l.src[l.pos:], " \t\r\n\"<>)]},\\"); i >= 0 {
		l.pos += i
	} else {
		l.pos = len(l.src)
	}
	// A full stop at the end belongs to the sentence.
	for l.pos > start && strings.IndexByte(".,;:!?", l.src[l.pos-1]) >= 0 {
		l.pos--
	}
	l.emit(token{text: "", start: start, end: l.pos, kind: link})
}

func (l *lexer) symbol(r rune, size int) {
	start := l.pos
	l.pos += size
	if r == '.' && strings.HasPrefix(l.src[l.pos:], ".") {
		for l.at('.') {
			l.pos++
		}
		r = '…'
	}
	text, ok := marks[r]
	if !ok {
		l.emit(token{text: l.src[start:l.pos], start: start, end: l.pos, kind: sign})
		return
	}
	l.emit(token{text: text, start: start, end: l.pos, kind: mark})
}
