package limit

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"resumed/internal/limit/token"
)

var learned = [...]Class{
	None, RateLimit, UsageLimit, Overloaded, ServerError, Network,
	Auth, Billing, ContextOverflow, BadRequest, Cancelled,
}

type scores [len(learned)]int32

type weights map[feature]weight

type weight [len(learned)]int16

//go:embed weights.tsv
var weightsFile string

var trained = sync.OnceValue(func() weights {
	w, err := parseWeights(weightsFile)
	if err != nil {
		panic(err)
	}
	return w
})

// The second column, how many examples contain the word, is for people.
func parseWeights(text string) (weights, error) {
	w := make(weights, strings.Count(text, "\n"))
	for columns := range token.Rows(text) {
		if len(columns) < 3 || len(columns) > 2+len(learned) {
			return nil, fmt.Errorf("weights: %q", columns)
		}
		var adds weight
		for i, field := range columns[2:] {
			n, err := strconv.ParseInt(cmp.Or(field, "0"), 10, 16)
			if err != nil {
				return nil, fmt.Errorf("weights: %q", columns)
			}
			adds[i] = int16(n)
		}
		w[named(columns[0])] = adds
	}
	return w, nil
}

func (w weights) score(src string, toks []token.Token) scores {
	var total scores
	var room [256]feature
	line := gathered{features: room[:0]}
	line.gather(src, toks)
	for _, f := range line.features {
		if adds, known := w[f]; known {
			for i, n := range adds {
				total[i] += int32(n)
			}
		}
	}
	return total
}

// best returns the class with the highest score except None, and its lead over None and over the next.
func (s scores) best() (c Class, overNone, overNext int32) {
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

const enough = 75

// judge returns the class of a refusal by the learned weights, or None, and whether that is sure. If it
// is known to be a refusal, its words must be known from the examples, and a class that is not
// transient needs a clear lead: a session is not parked for a guess, least of all after a crash of the
// agent.
func (s scores) judge(src string, toks []token.Token, known bool) (c Class, sure bool) {
	c, over, next := s.best()
	words := func(t token.Token) bool { return t.Kind == token.Word && len(t.Text) > 1 }
	switch {
	case c == Cancelled, !slices.ContainsFunc(toks, words):
		return None, false
	case known && !familiar(src, toks),
		known && !c.Transient() && over < 0 && (next < enough/2 || over < -2*enough || c == BadRequest && over < -enough/2):
		return None, false
	}
	return c, next >= enough
}

// The known family gets a bonus.
func (s scores) among(family Class, may func(Class) bool) Class {
	best, most := family, int32(-1<<30)
	if at := slices.Index(learned[:], family); at > 0 {
		most = s[at] + enough
	}
	for i, c := range learned {
		if i > 0 && s[i] > most && may(c) {
			best, most = c, s[i]
		}
	}
	return best
}

// familiar reports whether most of the longer words, or their stems, occur in the examples.
func familiar(src string, toks []token.Token) bool {
	line := gathered{named: true}
	line.gather(src, toks)
	all, seen, last := 0, 0, false
	for i, name := range line.names {
		_, known := trained()[line.features[i]]
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

func reasons(src string, c Class) []string {
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
	line.gather(src, token.Cut(src))
	for i, name := range line.names {
		if adds := trained()[line.features[i]]; adds[at] > 0 && plain(name) {
			reasons = append(reasons, reason{name, adds[at] - adds[0]})
		}
	}
	slices.SortStableFunc(reasons, func(a, b reason) int { return cmp.Compare(b.adds, a.adds) })
	const most = 3
	var said []string
	for _, r := range reasons {
		if len(said) < most && !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, r.words) || strings.Contains(r.words, s) }) {
			said = append(said, r.words)
		}
	}
	return said
}

// plain reports whether the words have only letters, and enough of them to be understood.
func plain(words string) bool {
	return len(words) > len("pm ") && !strings.ContainsFunc(words, func(r rune) bool { return r != ' ' && !unicode.IsLetter(r) })
}

// phrase is the meaning of a phrase of phrases.tsv, or of a code of codes.tsv.
type phrase struct {
	class Class
	traits
}

// traits are what a phrase tells besides a class, one bit each.
type traits uint16

const (
	first     traits = 1 << iota // counts only at the beginning of a clause
	weak                         // a clearer phrase, a code or a status wins; of a code: it names only a family of classes
	vague                        // gives way to clearer phrases
	running                      // printed by an agent that continues by itself
	alone                        // printed by an agent that continues by itself, if the message says nothing else
	lifted                       // about a limit that is over while the agent waits for a person
	reopens                      // about an allowance that is refilled by itself, whatever else is used up
	paced                        // used for rate limits and for allowances: with a short wait it is a rate limit
	byWait                       // the length of the stated wait decides the class
	beijing                      // printed by a provider that states times in Beijing time
	perPeriod                    // the period of the quota decides the class: per minute it is a rate limit
	isPeriod                     // names such a period
)

var traitNames = strings.Fields("first weak vague running alone lifted reopens paced by_wait beijing per_period period")

func (t traits) is(one traits) bool { return t&one != 0 }

//go:embed phrases.tsv
var phrasesFile string

// table has the phrases of a file, apart from those of another kind. It is read when it is first needed:
// most commands judge no text.
type table struct{ phrases, others token.Lexicon[phrase] }

// phrases are those of phrases.tsv, and its periods.
var phrases = sync.OnceValue(func() *table {
	var t table
	for columns := range token.Rows(phrasesFile) {
		pattern, means, err := parsePhrase(columns)
		if err != nil {
			panic(err)
		}
		if means.is(isPeriod) {
			t.others.Add(means, pattern)
		} else {
			t.phrases.Add(means, pattern)
		}
	}
	return &t
})

func init() { token.BeforeFirstCut(func() { phrases(); codes() }) }

// The last columns are the program that prints it, where and when that was seen.
func parsePhrase(columns []string) (pattern string, means phrase, err error) {
	if len(columns) != 6 {
		return "", means, fmt.Errorf("phrases: want six columns: %q", columns)
	}
	if means.class, err = ParseClass(columns[1]); err != nil {
		return "", means, fmt.Errorf("phrases: %w: %q", err, columns)
	}
	for trait := range strings.FieldsFuncSeq(columns[2], func(r rune) bool { return r == ',' }) {
		at := slices.Index(traitNames, trait)
		if at < 0 {
			return "", means, fmt.Errorf("phrases: no trait is called %q: %q", trait, columns)
		}
		means.traits |= 1 << at
	}
	return columns[0], means, nil
}

func periodIn(toks []token.Token) Class {
	for i := range toks {
		if h, ok := phrases().others.At(toks, i); ok {
			return h.Means.class
		}
	}
	return None
}
