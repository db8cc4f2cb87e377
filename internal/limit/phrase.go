package limit

import (
	"iter"
	"slices"
	"strings"
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
	words    []wordID
	number   bool
	link     bool
	gap      bool
	kinds    bool
	optional bool
}

const (
	gapWords  = 5
	gapTokens = 30 // however few words they are
)

// wordID stands for a word that occurs in a phrase; zero for any other. Phrases
// are matched against tokens by these alone.
type wordID uint16

var vocabulary = map[string]wordID{}

func learn(w string) wordID {
	id, ok := vocabulary[w]
	if !ok {
		id = wordID(len(vocabulary) + 1)
		vocabulary[w] = id
		learnGlyphs(w)
	}
	return id
}

var quoteID = learn(`"`)

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
				e.words = append(e.words, learn(w))
			}
		}
		p.parts = append(p.parts, e)
	}
	if n := len(p.parts) - 1; n >= 0 && p.parts[n].gap {
		p.parts, p.open = p.parts[:n], true
	}
	return p
}

// match returns the position after the phrase where it stands at toks[i], or -1.
func (p phrase) match(toks []token, i int) int { return matchParts(p.parts, toks, i) }

func matchParts(parts []part, toks []token, i int) int {
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
	for i < len(toks) && toks[i].id == quoteID {
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

// matchGap passes over as few words as will do.
func matchGap(rest []part, toks []token, i int) int {
	last := min(len(toks), i+gapTokens)
	for words := 0; ; {
		if end := matchParts(rest, toks, i); end >= 0 {
			return end
		}
		for i < last && toks[i].id == quoteID {
			i++
		}
		if i >= last || toks[i].kind > number && !joins(toks, i) {
			return -1
		}
		if words == 0 || toks[i].spaces > 0 {
			words++
		}
		if words > gapWords {
			return -1
		}
		i++
	}
}

// joins reports a mark inside a name: x/y:free, a@b.c.
func joins(toks []token, i int) bool {
	return toks[i].kind == mark && toks[i].glued && i+1 < len(toks) && toks[i+1].glued && strings.Contains("/:@+~", toks[i].text)
}

// matchKinds takes as many words of limitKinds as will do: "quota" in "daily
// quota limit reached" is one of them, in "daily quota reached" it is not.
func matchKinds(rest []part, toks []token, i int) int {
	for range gapWords {
		if i >= len(toks) || toks[i].kind != number && !limitKinds[toks[i].text] {
			return -1
		}
		i++
		if end := matchParts(rest, toks, i); end >= 0 {
			return end
		}
	}
	return -1
}

func (e part) fits(t token) bool {
	if e.number {
		return t.kind == number
	}
	if e.link {
		return t.kind == link
	}
	return t.id != 0 && slices.Contains(e.words, t.id)
}

// lexicon finds, of many phrases, those that stand at one place. It is
// indexed by first word, so that looking costs one map access where none does.
type lexicon[T any] struct {
	byWord   [][]entry[T] // by wordID
	byNumber []entry[T]
}

type entry[T any] struct {
	phrase
	means T
}

// add puts in every line of the notation; blank lines are passed over. A
// phrase begins with words or a number that must be there.
func (x *lexicon[T]) add(means T, lines string) {
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
				head.words = append(head.words, learn(w))
			}
		}
		for _, w := range head.words {
			if n := int(w) + 1 - len(x.byWord); n > 0 {
				x.byWord = append(x.byWord, make([][]entry[T], n)...)
			}
			x.byWord[w] = append(x.byWord[w], e)
		}
	}
}

// hit is a phrase that was found.
type hit[T any] struct {
	means T
	end   int  // the position after it
	open  bool // anything may follow
}

// hits yields the phrases that stand at toks[i]; those that were added first
// go first.
func (x *lexicon[T]) hits(toks []token, i int) iter.Seq[hit[T]] {
	return func(yield func(hit[T]) bool) {
		if i >= len(toks) {
			return
		}
		var entries []entry[T]
		if t := toks[i]; t.kind == number {
			entries = x.byNumber
		} else if t.id != 0 && int(t.id) < len(x.byWord) {
			entries = x.byWord[t.id]
		}
		for _, e := range entries {
			if end := e.match(toks, i); end >= 0 && !yield(hit[T]{e.means, end, e.open}) {
				return
			}
		}
	}
}

// at returns the first of the phrases that stand at toks[i].
func (x *lexicon[T]) at(toks []token, i int) (hit[T], bool) {
	for h := range x.hits(toks, i) {
		return h, true
	}
	return hit[T]{}, false
}

// within reports whether any phrase stands anywhere in toks.
func (x *lexicon[T]) within(toks []token) bool {
	for i := range toks {
		if _, ok := x.at(toks, i); ok {
			return true
		}
	}
	return false
}
