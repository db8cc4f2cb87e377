package limit

import (
	_ "embed"
	"fmt"
	"strings"

	"resumed/internal/limit/token"
)

// phrase is the meaning of a phrase of phrases.tsv.
type phrase struct {
	class Class

	first     bool // counts only at the beginning of a clause
	weak      bool // a clearer phrase, a code or a status wins
	vague     bool // gives way to clearer phrases
	running   bool // printed by an agent that continues by itself
	alone     bool // printed by an agent that continues by itself, if the message says nothing else
	lifted    bool // about a limit that is over while the agent waits for a person
	reopens   bool // about an allowance that is refilled by itself, whatever else is used up
	paced     bool // used for rate limits and for allowances: with a short wait it is a rate limit
	byWait    bool // the length of the stated wait decides the class
	beijing   bool // printed by a provider that states times in Beijing time
	perPeriod bool // the period of the quota decides the class: per minute it is a rate limit
	period    bool // names such a period
}

//go:embed phrases.tsv
var phrasesFile string

var phrases, periods token.Lexicon[phrase]

func init() {
	for columns := range token.Rows(phrasesFile) {
		pattern, means, err := parsePhrase(columns)
		if err != nil {
			panic(err)
		}
		if means.period {
			periods.Add(means, pattern)
		} else {
			phrases.Add(means, pattern)
		}
	}
}

// parsePhrase parses a line: the pattern, the class, traits separated by commas, and then the program
// that prints it, where and when that was seen.
func parsePhrase(columns []string) (pattern string, means phrase, err error) {
	if len(columns) != 6 {
		return "", means, fmt.Errorf("phrases: want six columns: %q", columns)
	}
	if means.class, err = ParseClass(columns[1]); err != nil {
		return "", means, fmt.Errorf("phrases: %w: %q", err, columns)
	}
	traits := map[string]*bool{
		"first": &means.first, "weak": &means.weak, "vague": &means.vague, "running": &means.running, "alone": &means.alone, "lifted": &means.lifted,
		"reopens": &means.reopens, "paced": &means.paced, "by_wait": &means.byWait, "beijing": &means.beijing, "per_period": &means.perPeriod, "period": &means.period,
	}
	for trait := range strings.SplitSeq(columns[2], ",") {
		if trait == "" {
			continue
		}
		flag, ok := traits[trait]
		if !ok {
			return "", means, fmt.Errorf("phrases: no trait is called %q: %q", trait, columns)
		}
		*flag = true
	}
	return columns[0], means, nil
}

// periodIn returns the class by the first period of a quota that is named, or None.
func periodIn(toks []token.Token) Class {
	for i := range toks {
		if h, ok := periods.At(toks, i); ok {
			return h.Means.class
		}
	}
	return None
}

// phraseAt returns the meaning of the phrase at toks[i]; of several, the first in the file counts.
func phraseAt(toks []token.Token, i int) (phrase, bool) {
	h, ok := phrases.At(toks, i)
	return h.Means, ok
}
