// Package words says what the words of a refusal mean: by phrases, which are
// data, and where no phrase is known by weights that were learned from examples.
package words

import (
	"cmp"
	_ "embed"
	"fmt"
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
	adds Scores
}

//go:embed weights.tsv
var weightsFile string

var trained = sync.OnceValue(func() table {
	w, err := ParseWeights(weightsFile)
	if err != nil {
		panic(err)
	}
	return w.table()
})

// table is weights as they are looked up, many times for each line: every entry
// stands where its hash says, or soon after.
type table []slot

type slot struct {
	feature
	adds *Scores
}

func (w Weights) table() table {
	size := 1
	for size < 2*len(w)+1 {
		size *= 2
	}
	t := make(table, size)
	for f, entry := range w {
		at := f % feature(size)
		for t[at].adds != nil {
			at = (at + 1) % feature(size)
		}
		t[at] = slot{f, &entry.adds}
	}
	return t
}

// adds returns what a feature adds to the scores, or nil.
func (t table) adds(f feature) *Scores {
	last := feature(len(t) - 1)
	for at := f & last; t[at].adds != nil; at = (at + 1) & last {
		if t[at].feature == f {
			return t[at].adds
		}
	}
	return nil
}

// ParseWeights reads weights as Format writes them: a line a feature, its name and
// what it adds for each class, behind a line that names the classes.
func ParseWeights(text string) (Weights, error) {
	w := Weights{}
	for line := range strings.Lines(text) {
		name, adds, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "//") || name == "" {
			continue
		}
		entry := &weight{name: name}
		for i, field := range strings.Split(adds, "\t") {
			n, err := strconv.ParseInt(cmp.Or(field, "0"), 10, 32)
			if err != nil || i >= len(learned) {
				return nil, fmt.Errorf("weights: %q", line)
			}
			entry.adds[i] = int32(n)
		}
		w[named(name)] = entry
	}
	return w, nil
}

// Score weighs the tokens of a line, or of a message.
func Score(src string, toks []token.Token) Scores { return trained().score(src, toks) }

// Score weighs the tokens of a line, or of a message.
func (w Weights) Score(src string, toks []token.Token) Scores { return w.table().score(src, toks) }

func (t table) score(src string, toks []token.Token) Scores {
	var total Scores
	eachFeature(src, toks, func(f feature, _, _ string) {
		if adds := t.adds(f); adds != nil {
			for i, n := range adds {
				total[i] += n
			}
		}
	})
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
const Enough = 50

// Judge returns the class that the words of a refusal are like, or None, and
// whether that is sure. Where it is a refusal for other reasons than its words,
// they have to be words that were seen before.
func (s Scores) Judge(src string, toks []token.Token, known bool) (c class.Class, sure bool) {
	c, over, next := s.Best()
	switch {
	case c == class.Cancelled, !speaks(toks):
		return class.None, false
	case known && over < 0 && (over < -2*Enough || c == class.BadRequest || !familiar(src, toks)):
		return class.None, false
	}
	return c, next >= Enough
}

// speaks reports whether there are words at all.
func speaks(toks []token.Token) bool {
	return slices.ContainsFunc(toks, func(t token.Token) bool { return t.Kind == token.Word && len(t.Text) > 1 })
}

// familiar reports whether most of the longer words were seen in the examples.
func familiar(src string, toks []token.Token) bool {
	all, seen, last := 0, 0, false
	eachFeature(src, toks, func(f feature, first, second string) {
		known := trained().adds(f) != nil
		switch {
		case second == "~" && known && !last:
			seen++
		case second == "" && first[0] != '!' && len(first) >= len("this"):
			all++
			if last = known; known {
				seen++
			}
		}
	})
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
		adds  int32
	}
	var reasons []reason
	eachFeature(src, toks, func(f feature, first, second string) {
		adds, words := trained().adds(f), nameOf(first, second)
		if adds != nil && adds[at] > 0 && plain(words) {
			reasons = append(reasons, reason{words, adds[at] - adds[0]})
		}
	})
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

// plain reports what is made of letters only.
func plain(words string) bool {
	return !strings.ContainsFunc(words, func(r rune) bool { return r != ' ' && !unicode.IsLetter(r) })
}
