package words

import (
	_ "embed"
	"strings"

	"resumed/internal/limit/token"
)

// concept is what several words mean alike: that an allowance is used up is said
// by exhausted, depleted, spent and gone. What is learned of a concept holds for words
// that no example has.
type concept struct {
	feature
	name string
}

//go:embed concepts.tsv
var conceptsFile string

// concepts finds them by the hashes of words and stems: every one stands where its
// hash says, or soon after.
var concepts = parseConcepts(conceptsFile)

type lexicon [1 << 11]struct {
	word  feature
	means []*concept
}

func parseConcepts(text string) *lexicon {
	x := &lexicon{}
	for columns := range token.Rows(text) {
		c := &concept{token.Hashed("@" + columns[0]), "@" + columns[0]}
		for w := range strings.FieldsSeq(columns[1]) {
			at := x.find(token.Hashed(w))
			x[at].word = token.Hashed(w)
			x[at].means = append(x[at].means, c)
		}
	}
	return x
}

func (x *lexicon) find(word feature) int {
	at := int(word % feature(len(x)))
	for x[at].word != 0 && x[at].word != word {
		at = (at + 1) % len(x)
	}
	return at
}

// of returns what a word, or a stem, means.
func (x *lexicon) of(word feature) []*concept { return x[x.find(word)].means }
