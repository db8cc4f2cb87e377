// Package words says what the words of a refusal mean: by phrases, which are
// data, and where no phrase is known by weights that were learned from examples.
package words

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"resumed/internal/limit/class"
	"resumed/internal/limit/token"
)

// learned are the classes that the weights tell apart. None is the first.
var learned = [...]class.Class{
	class.None, class.RateLimit, class.UsageLimit, class.Overloaded, class.ServerError, class.Network,
	class.Auth, class.Billing, class.ContextOverflow, class.BadRequest, class.Cancelled,
}

// Scores says how much speaks for each class of learned, in hundredths.
type Scores [len(learned)]int32

// Weights are what each feature adds to the scores.
type Weights map[feature]*weight

type weight struct {
	name string
	adds adds
}

type adds [len(learned)]int16

// packed is weights.tsv as Pack writes it: a third of its length, in a program that is
// full of other things.
//
//go:embed weights.tsv.gz
var packed []byte

var trained = sync.OnceValue(func() *table {
	text, err := unpack(packed)
	if err != nil {
		panic(err)
	}
	w, err := ParseWeights(text)
	if err != nil {
		panic(err)
	}
	return w.table()
})

func unpack(packed []byte) (string, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", fmt.Errorf("weights: %w", err)
	}
	var text strings.Builder
	if _, err := io.Copy(&text, r); err != nil {
		return "", fmt.Errorf("weights: %w", err)
	}
	return text.String(), nil
}

// Use lets other weights judge than those that are built in, as learning does.
func Use(w Weights) {
	t := w.table()
	trained = func() *table { return t }
}

// table is weights as they are looked up, many times for each line: every entry
// stands where its hash says, or soon after. Most features of a line are in no
// example; the small filter knows most of those at once.
type table struct {
	filter [1 << 12]uint64
	slots  []slot
}

type slot struct {
	feature
	adds adds
}

func (w Weights) table() *table {
	size := 1
	for size < 3*len(w)/2+2 {
		size *= 2
	}
	t := &table{slots: make([]slot, size)}
	for f, entry := range w {
		at := f % feature(size)
		for t.slots[at].feature != 0 {
			at = (at + 1) % feature(size)
		}
		t.slots[at] = slot{f, entry.adds}
		t.filter[f>>32%feature(len(t.filter))] |= 1 << (f >> 58)
	}
	return t
}

// adds returns what a feature adds to the scores, or nil.
func (t *table) adds(f feature) *adds {
	if t.filter[f>>32%feature(len(t.filter))]&(1<<(f>>58)) == 0 {
		return nil
	}
	last := feature(len(t.slots) - 1)
	for at := f & last; t.slots[at].feature != 0; at = (at + 1) & last {
		if t.slots[at].feature == f {
			return &t.slots[at].adds
		}
	}
	return nil
}

// ParseWeights reads weights as Format writes them: a line a feature, its name and
// what it adds for each class, behind a line that names the classes.
func ParseWeights(text string) (Weights, error) {
	w := Weights{}
	for columns := range token.Rows(text) {
		entry := &weight{name: columns[0]}
		for i, field := range columns[1:] {
			n, err := strconv.ParseInt(cmp.Or(field, "0"), 10, 16)
			if err != nil || i >= len(learned) {
				return nil, fmt.Errorf("weights: %q", columns)
			}
			entry.adds[i] = int16(n)
		}
		w[named(entry.name)] = entry
	}
	return w, nil
}

// Score weighs the tokens of a line, or of a message.
func Score(src string, toks []token.Token) Scores { return trained().score(src, toks) }

func (t *table) score(src string, toks []token.Token) Scores {
	var total Scores
	var room [256]feature
	line := gathered{features: room[:0]}
	line.gather(src, toks)
	for _, f := range line.features {
		if adds := t.adds(f); adds != nil {
			for i, n := range adds {
				total[i] += int32(n)
			}
		}
	}
	return total
}

// Best returns the class that most speaks for, None aside, and by how much more
// than for None and than for the next.
func (s Scores) Best() (best class.Class, overNone, overNext int32) {
	at, next := 1, int32(-1<<30)
	for i := 2; i < len(s); i++ {
		if s[i] > s[at] {
			next, at = s[at], i
		} else {
			next = max(next, s[i])
		}
	}
	return learned[at], s[at] - s[0], s[at] - next
}

// Enough is by how much a class has to win to be believed.
const Enough = 75

// Judge returns the class that the words of a refusal are like, or None, and
// whether that is sure. Where it is a refusal for other reasons than its words,
// they have to be words that were seen before, and what never passes has to be
// plain: nothing is parked for a guess, least of all for an agent's own crash.
func (s Scores) Judge(src string, toks []token.Token, known bool) (c class.Class, sure bool) {
	c, over, next := s.Best()
	switch {
	case c == class.Cancelled, !speaks(toks):
		return class.None, false
	case known && !familiar(src, toks),
		known && !c.Transient() && over < 0 && (next < Enough/2 || over < -2*Enough || c == class.BadRequest && over < -Enough/2):
		return class.None, false
	}
	return c, next >= Enough
}

// Among returns the class that most speaks for of those that may be, where the
// family that is known has a start.
func (s Scores) Among(family class.Class, may func(class.Class) bool) class.Class {
	best, most := family, int32(-1<<30)
	if at := slices.Index(learned[:], family); at > 0 {
		most = s[at] + Enough
	}
	for i, c := range learned {
		if i > 0 && s[i] > most && may(c) {
			best, most = c, s[i]
		}
	}
	return best
}

// speaks reports whether there are words at all.
func speaks(toks []token.Token) bool {
	return slices.ContainsFunc(toks, func(t token.Token) bool { return t.Kind == token.Word && len(t.Text) > 1 })
}

// familiar reports whether most of the longer words, or their stems, were seen in
// the examples.
func familiar(src string, toks []token.Token) bool {
	line := gathered{named: true}
	line.gather(src, toks)
	all, seen, last := 0, 0, false
	for i, name := range line.names {
		known := trained().adds(line.features[i]) != nil
		switch {
		case strings.HasSuffix(name, "~") && known && !last:
			seen++
		case len(name) >= len("odd") && name[0] != '!' && name[0] != '@' && !strings.ContainsAny(name, " ~"):
			all++
			if last = known; known {
				seen++
			}
		}
	}
	return all == 0 || 2*seen > all
}

// Because returns the words that speak most for a class, the strongest first.
func Because(src string, toks []token.Token, c class.Class) []string {
	at := slices.Index(learned[:], c)
	if at < 0 {
		return nil
	}
	type reason struct {
		words string
		adds  int16
	}
	var reasons []reason
	line := gathered{named: true}
	line.gather(src, toks)
	for i, name := range line.names {
		adds := trained().adds(line.features[i])
		if adds != nil && adds[at] > 0 && plain(name) {
			reasons = append(reasons, reason{name, adds[at] - adds[0]})
		}
	}
	slices.SortStableFunc(reasons, func(a, b reason) int { return cmp.Compare(b.adds, a.adds) })
	var said []string
	for _, r := range reasons {
		if len(said) < mostReasons && !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, r.words) || strings.Contains(r.words, s) }) {
			said = append(said, r.words)
		}
	}
	return said
}

const mostReasons = 3

// plain reports what is made of letters only, and of so many that it says something.
func plain(words string) bool {
	return len(words) > len("pm ") && !strings.ContainsFunc(words, func(r rune) bool { return r != ' ' && !unicode.IsLetter(r) })
}
