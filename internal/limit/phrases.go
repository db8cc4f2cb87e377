package limit

import (
	_ "embed"
	"fmt"
	"strings"

	"resumed/internal/limit/token"
)

// phrase is what a phrase of phrases.tsv means.
type phrase struct {
	class Class

	first     bool // counts only where a clause begins with it
	weak      bool // a plainer word, a code or a status is believed instead
	vague     bool // yields to plainer words
	running   bool // said by an agent that goes on by itself
	alone     bool // said by an agent that goes on by itself, if it says nothing else
	lifted    bool // said of a limit that is over while the agent waits for a person
	reopens   bool // said of an allowance that comes back by itself, whatever else is used up
	paced     bool // said of a pace and of an allowance alike: a short wait tells a pace
	byWait    bool // the length of the wait that is asked for tells the class
	beijing   bool // said by a provider that states times as they are in Beijing
	perPeriod bool // the period of the quota tells the class: by the minute it is a pace
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

// parsePhrase reads a line: the pattern, the class, traits with commas, and then
// the program that prints it, where that was seen, and when.
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

// periodIn returns the class of a quota that is counted by the period that is
// named first, or None.
func periodIn(toks []token.Token) Class {
	for i := range toks {
		if h, ok := periods.At(toks, i); ok {
			return h.Means.class
		}
	}
	return None
}

// phraseAt returns what the phrase at toks[i] means; of several the first in the file
// counts.
func phraseAt(toks []token.Token, i int) (phrase, bool) {
	h, ok := phrases.At(toks, i)
	return h.Means, ok
}
