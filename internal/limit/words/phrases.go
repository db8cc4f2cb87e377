package words

import (
	_ "embed"
	"fmt"
	"strings"

	"resumed/internal/limit/class"
	"resumed/internal/limit/token"
)

// Phrase is what a phrase of phrases.tsv means.
type Phrase struct {
	Class class.Class

	First     bool // counts only where a clause begins with it
	Weak      bool // a plainer word, a code or a status is believed instead
	Vague     bool // yields to plainer words
	Running   bool // said by an agent that goes on by itself
	Alone     bool // said by an agent that goes on by itself, if it says nothing else
	Lifted    bool // said of a limit that is over while the agent waits for a person
	Reopens   bool // said of an allowance that comes back by itself, whatever else is used up
	Paced     bool // said of a pace and of an allowance alike: a short wait tells a pace
	ByWait    bool // the length of the wait that is asked for tells the class
	Beijing   bool // said by a provider that states times as they are in Beijing
	PerPeriod bool // the period of the quota tells the class: by the minute it is a pace
	Period    bool // names such a period
}

//go:embed phrases.tsv
var phrasesFile string

var phrases, periods token.Lexicon[Phrase]

func init() {
	for columns := range token.Rows(phrasesFile) {
		pattern, means, err := parsePhrase(columns)
		if err != nil {
			panic(err)
		}
		if means.Period {
			periods.Add(means, pattern)
		} else {
			phrases.Add(means, pattern)
		}
	}
}

// parsePhrase reads a line: the pattern, the class, traits with commas, and then
// who says it, where that was seen, and when.
func parsePhrase(columns []string) (pattern string, means Phrase, err error) {
	if len(columns) != 6 {
		return "", means, fmt.Errorf("phrases: want six columns: %q", columns)
	}
	if means.Class, err = class.Parse(columns[1]); err != nil {
		return "", means, fmt.Errorf("phrases: %w: %q", err, columns)
	}
	traits := map[string]*bool{
		"first": &means.First, "weak": &means.Weak, "vague": &means.Vague, "running": &means.Running, "alone": &means.Alone, "lifted": &means.Lifted,
		"reopens": &means.Reopens, "paced": &means.Paced, "by_wait": &means.ByWait, "beijing": &means.Beijing, "per_period": &means.PerPeriod, "period": &means.Period,
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

// Period returns the class of a quota that is counted by the period that is
// named first, or None.
func Period(toks []token.Token) class.Class {
	for i := range toks {
		if h, ok := periods.At(toks, i); ok {
			return h.Means.Class
		}
	}
	return class.None
}

// At returns what the phrase at toks[i] means; of several the first in the file
// counts.
func At(toks []token.Token, i int) (Phrase, bool) {
	h, ok := phrases.At(toks, i)
	return h.Means, ok
}
