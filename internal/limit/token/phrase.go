package token

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// phrase is a pattern over tokens. Its notation, blank-separated:
//
//	word        that word
//	a|b|c       one of these words
//	x?          x, or nothing
//	#           a number
//	*           up to five words or numbers, as few as will do; a name or an
//	            identifier without a blank in it is one word
//	<url>       an address
//	@           one to five words of limitKinds, or numbers
//	, . : …     that mark
//	* at the end: the sentence may go on in any way
//
// Quotation marks in a message never part a phrase.
type phrase struct {
	parts []part
	open  bool // anything may follow
}

type part struct {
	words    []Hash
	number   bool
	link     bool
	gap      bool
	kinds    bool
	optional bool
}

const (
	gapWords  = 5
	gapTokens = 30 // even if they are fewer words
)

func parsePhrase(notation string) phrase {
	var p phrase
	for f := range strings.FieldsSeq(notation) {
		var e part
		if f != "?" {
			f, e.optional = strings.CutSuffix(f, "?")
		}
		switch f {
		case "#":
			e.number = true
		case "<url>":
			e.link = true
		case "*":
			e.gap = true
		case "@":
			e.kinds = true
		default:
			for w := range strings.SplitSeq(f, "|") {
				LearnGlyphs(w)
				e.words = append(e.words, Hashed(w))
			}
		}
		p.parts = append(p.parts, e)
	}
	if n := len(p.parts) - 1; n >= 0 && p.parts[n].gap {
		p.parts, p.open = p.parts[:n], true
	}
	return p
}

func matchParts(parts []part, toks []Token, i int) int {
	if len(parts) == 0 {
		return i
	}
	head, rest := parts[0], parts[1:]
	if head.gap {
		return matchGap(rest, toks, i)
	}
	if head.kinds {
		return matchKinds(rest, toks, i)
	}
	for i < len(toks) && toks[i].Is(`"`) {
		i++
	}
	if i < len(toks) && head.fits(toks[i]) {
		if end := matchParts(rest, toks, i+1); end >= 0 {
			return end
		}
	}
	if head.optional {
		return matchParts(rest, toks, i)
	}
	return -1
}

func matchGap(rest []part, toks []Token, i int) int {
	last := min(len(toks), i+gapTokens)
	for words := 0; ; {
		if end := matchParts(rest, toks, i); end >= 0 {
			return end
		}
		for i < last && toks[i].Is(`"`) {
			i++
		}
		if i >= last || toks[i].Kind > Number && !joins(toks, i) {
			return -1
		}
		if words == 0 || toks[i].Spaces > 0 {
			words++
		}
		if words > gapWords {
			return -1
		}
		i++
	}
}

// joins reports whether the mark is inside a name: x/y:free, a@b.c.
func joins(toks []Token, i int) bool {
	return toks[i].Kind == Mark && toks[i].Glued && i+1 < len(toks) && toks[i+1].Glued && strings.Contains("/:@+~", toks[i].Text)
}

// "quota" is one of the kinds in "daily quota limit reached", but not in "daily quota reached".
func matchKinds(rest []part, toks []Token, i int) int {
	for range gapWords {
		if i >= len(toks) || toks[i].Kind != Number && !limitKinds[toks[i].Text] {
			return -1
		}
		i++
		if end := matchParts(rest, toks, i); end >= 0 {
			return end
		}
	}
	return -1
}

func (e part) fits(t Token) bool {
	switch t.Kind {
	case Number:
		return e.number
	case Link:
		return e.link
	default:
		return slices.Contains(e.words, t.Hash)
	}
}

// Lexicon finds phrases by their first word: a position without a match costs one lookup.
type Lexicon[T any] struct {
	byWord   map[Hash][]entry[T]
	byNumber []entry[T]
}

type entry[T any] struct {
	phrase
	means T
}

// Add adds every line of the notation. A phrase must begin with a word or a number that is not optional.
func (x *Lexicon[T]) Add(means T, lines string) {
	for line := range strings.Lines(lines) {
		p := parsePhrase(line)
		if len(p.parts) == 0 {
			continue
		}
		head := p.parts[0]
		if head.gap || head.optional {
			panic("phrase begins with what may be missing: " + line)
		}
		e := entry[T]{p, means}
		if head.number || head.kinds {
			x.byNumber = append(x.byNumber, e)
		}
		if head.kinds {
			for w := range limitKinds {
				head.words = append(head.words, Hashed(w))
			}
		}
		if x.byWord == nil {
			x.byWord = make(map[Hash][]entry[T])
		}
		for _, w := range head.words {
			x.byWord[w] = append(x.byWord[w], e)
		}
	}
}

// Hit is a phrase that was found.
type Hit[T any] struct {
	Means T
	End   int  // the position after it
	Open  bool // anything may follow
}

// Hits yields the phrases that match at toks[i], in the order in which they were added.
func (x *Lexicon[T]) Hits(toks []Token, i int) iter.Seq[Hit[T]] {
	return func(yield func(Hit[T]) bool) {
		if i >= len(toks) {
			return
		}
		entries := x.byNumber
		if toks[i].Kind != Number {
			entries = x.byWord[toks[i].Hash]
		}
		for at := range entries {
			e := &entries[at]
			if end := matchParts(e.parts, toks, i); end >= 0 && !yield(Hit[T]{e.means, end, e.open}) {
				return
			}
		}
	}
}

// At returns the first phrase that matches at toks[i].
func (x *Lexicon[T]) At(toks []Token, i int) (Hit[T], bool) {
	for h := range x.Hits(toks, i) {
		return h, true
	}
	return Hit[T]{}, false
}

// StartsPhrase reports whether a phrase may begin with the token.
func (x *Lexicon[T]) StartsPhrase(t Token) bool {
	return t.Kind != Number && len(x.byWord[t.Hash]) > 0
}

// Rows yields the columns of a table, separated by tabs. Lines that begin with "//" are comments.
func Rows(table string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(table) {
			line = strings.TrimSuffix(line, "\n")
			if line != "" && !strings.HasPrefix(line, "//") && !yield(strings.Split(line, "\t")) {
				return
			}
		}
	}
}

// limitKinds are the words in the names of limits: "5-hour limit", "weekly Opus limit", "free daily
// request quota". A limit of another kind (threads, retries, file sizes) is not the provider's.
var limitKinds = Set(`usage session weekly daily monthly hourly hour hours h day days week month minute
		plan quota model models opus sonnet haiku fable claude codex gemini gpt qwen copilot kiro amazon q developer cursor grok
		free tier pro max plus premium team enterprise individual personal organization org account workspace subscription
		message messages request requests prompt prompts token tokens agentic chat completion completions interaction interactions
		api oauth global baseline base included extra allocated spending user your the cli`)

// Set returns the words as a set.
func Set(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// isGlyph: a letter of a script without blanks between words, or with attached endings.
func isGlyph(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー'
}

// glyphWords are the known words in such scripts by their first letter, longer ones first.
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

// These scripts have no lower case, and adjacent words do not form an identifier.
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
