// Package token splits a message into words, numbers and marks, and finds phrases in them. The same
// phrases match prose and identifiers of programs.
package token

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Kind is what a token is made of.
type Kind uint8

// The kinds.
const (
	Word   Kind = iota // letters; lower case, apostrophes dropped
	Number             // digits, with a fraction where there is one
	Mark               // punctuation that separates or joins clauses
	Sign               // any other symbol: bullets, frames, emoji
	Link               // a whole URL: its words say nothing about limits
)

// Token is one piece of a message. Words are in lower case and split where identifiers are
// ("rate_limit_error", "rateLimitExceeded" and "rate-limit" all begin with the words rate and limit),
// so that the same phrases match codes and prose.
type Token struct {
	Text       string
	Hash       Hash // of Text
	Start, End int  // in the string that was cut
	Kind       Kind
	Spaces     uint8 // blanks before it, counted up to 255; a tab is several
	Glued      bool  // nothing before it, not even a separator
	First      bool  // first of its line
	Upper      bool  // begins with an upper-case letter
}

// Hash is FNV-1a.
type Hash uint64

// Hashed returns the hash of a text.
func Hashed(s string) Hash { return Hash(14695981039346656037).With(s) }

// With continues a hash with more text.
func (h Hash) With(s string) Hash {
	for i := range len(s) {
		h = (h ^ Hash(s[i])) * 1099511628211
	}
	return h
}

// Is reports whether the token has this text.
func (t Token) Is(text string) bool { return t.Text == text }

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

type lexer struct {
	src   string
	lower string // src with ASCII letters in lower case; the same offsets
	pos   int
	out   []Token

	spaces uint8
	fresh  bool // at the beginning of a line
	parted bool // a separator came since the last token
}

var (
	tables     []func()
	readTables = sync.OnceFunc(func() {
		for _, read := range tables {
			read()
		}
	})
)

// BeforeFirstCut registers what reads a table of words, in an init function. Where a word of a script without
// blanks ends depends on all tables: none may be read later.
func BeforeFirstCut(read func()) { tables = append(tables, read) }

// Cut returns the tokens of a message.
func Cut(s string) []Token {
	readTables()
	l := lexer{src: s, lower: Lower(s), fresh: true, parted: true}
	l.out = make([]Token, 0, len(s)/4+4)
	for l.pos < len(s) {
		l.step()
	}
	return l.out
}

// Lower converts ASCII letters only, so that every offset stays the same.
func Lower(s string) string {
	lower := []byte(s)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

const tabWidth = 8

func (l *lexer) step() {
	switch c := l.src[l.pos]; {
	case c == ' ':
		l.parted = true
		l.spaces = min(l.spaces, 254) + 1
		l.pos++
		return
	case isLower(c) || isUpper(c):
		l.word()
		return
	}
	r, size := utf8.DecodeRuneInString(l.src[l.pos:])
	switch {
	case r == '\n' || r == '\r':
		l.fresh, l.parted, l.spaces = true, true, 0
		l.pos += size
	case r == '\t' || r == '\u00a0' || r == '\u202f' || r == '\u2009' || r == utf8.RuneError:
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
	case IsDigit(r):
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

// IsDigit reports whether a rune is one of the ten digits.
func IsDigit(r rune) bool { return '0' <= r && r <= '9' }

func (l *lexer) between() bool {
	return l.pos > 0 && isAlnum(l.src[l.pos-1]) && l.before()
}

func (l *lexer) before() bool { return l.pos+1 < len(l.src) && isAlnum(l.src[l.pos+1]) }

// isAlnum reports whether a byte is a letter or a digit of ASCII.
func isAlnum(c byte) bool { return isLower(c) || isUpper(c) || IsDigit(rune(c)) }

func (l *lexer) escape() {
	l.pos++
	if l.pos < len(l.src) && strings.IndexByte("nrt", l.src[l.pos]) >= 0 {
		l.parted = true
		l.pos++
	}
}

func (l *lexer) emit(t Token) {
	t.Spaces, t.First = l.spaces, l.fresh
	t.Glued = !l.parted
	t.Hash = Hashed(t.Text)
	l.spaces, l.fresh, l.parted = 0, false, false
	l.out = append(l.out, t)
}

func (l *lexer) number() {
	start := l.pos
	l.digits()
	text := l.src[start:l.pos]
	switch {
	case l.at('.') && l.before() && IsDigit(rune(l.src[l.pos+1])) && !l.dotted():
		l.pos++
		l.digits()
		text = l.src[start:l.pos]
	case l.thousands():
		for l.thousands() {
			l.pos += 4
		}
		text = strings.ReplaceAll(l.src[start:l.pos], ",", "")
	}
	l.emit(Token{Text: text, Start: start, End: l.pos, Kind: Number})
}

func (l *lexer) digits() {
	for l.pos < len(l.src) && IsDigit(rune(l.src[l.pos])) {
		l.pos++
	}
}

func (l *lexer) at(c byte) bool { return l.pos < len(l.src) && l.src[l.pos] == c }

// dotted: the number is part of an address or a version, such as 2.1.325.
func (l *lexer) dotted() bool {
	i := l.pos + 1
	for i < len(l.src) && IsDigit(rune(l.src[i])) {
		i++
	}
	return i+1 < len(l.src) && l.src[i] == '.' && IsDigit(rune(l.src[i+1]))
}

func (l *lexer) thousands() bool {
	if !l.at(',') || l.pos+4 > len(l.src) {
		return false
	}
	for _, c := range l.src[l.pos+1 : l.pos+4] {
		if !IsDigit(c) {
			return false
		}
	}
	return l.pos+4 == len(l.src) || !IsDigit(rune(l.src[l.pos+4]))
}

func (l *lexer) word() {
	if rest := l.lower[l.pos:]; rest[0] == 'h' && (strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://")) {
		l.url()
		return
	}
	start := l.pos
	if n := l.brand(); n > 0 {
		l.pos += n
		l.emit(Token{Text: l.lower[start:l.pos], Start: start, End: l.pos, Kind: Word, Upper: isUpper(l.src[start])})
		return
	}
	prev := rune(0)
	apostrophe, wide := false, false
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		if isLower(c) {
			prev = rune(c)
			l.pos++
			continue
		}
		if c < utf8.RuneSelf && !isUpper(c) && c != '\'' {
			break
		}
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
	upper := isUpper(l.src[start])
	if wide {
		first, _ := utf8.DecodeRuneInString(l.src[start:])
		upper = unicode.IsUpper(first)
	}
	l.emit(Token{Text: text, Start: start, End: l.pos, Kind: Word, Upper: upper})
}

var brands = []string{"openai", "openrouter", "opencode", "chatgpt", "deepseek", "litellm", "xai"}

func (l *lexer) brand() int {
	if strings.IndexByte("ocdlx", l.src[l.pos]|0x20) < 0 {
		return 0
	}
	for _, name := range brands {
		if end := l.pos + len(name); l.src[l.pos]|0x20 == name[0] && strings.HasPrefix(l.lower[l.pos:], name) &&
			(end == len(l.src) || !isLower(l.src[end])) {
			return len(name)
		}
	}
	return 0
}

// acronymEnds: at the C of APICall, but neither at the A of OAuth nor at the I of APIs.
func (l *lexer) acronymEnds(start int) bool {
	if l.pos-start < 2 || l.pos+2 >= len(l.src) || !isUpper(l.src[l.pos-1]) {
		return false
	}
	return isLower(l.src[l.pos+1]) && isLower(l.src[l.pos+2])
}

// isUpper reports whether a byte is a capital letter of ASCII.
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// isLower reports whether a byte is a small letter of ASCII.
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
	l.emit(Token{Text: "", Start: start, End: l.pos, Kind: Link})
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
	text, kind := marks[r], Mark
	if text == "" {
		text, kind = l.src[start:l.pos], Sign
	}
	l.emit(Token{Text: text, Start: start, End: l.pos, Kind: kind})
}

// mostText is how much of a message is read: an error is at its beginning or its end.
const mostText = 16 << 10

// Clip returns the part of a message that is read.
func Clip(s string) string {
	if len(s) <= mostText {
		return s
	}
	return s[:mostText/2] + "\n" + s[len(s)-mostText/2:]
}
