package limit

import (
	_ "embed"
	"strings"

	"resumed/internal/limit/token"
)

// concept is the common meaning of several words: exhausted, depleted, spent and gone all mean that an
// allowance is used up. A weight that is learned for a concept also applies to words that no example
// contains.
type concept struct {
	feature
	name string
}

//go:embed concepts.tsv
var conceptsFile string

// concepts are the meanings of each word or stem.
var concepts = parseConcepts(conceptsFile)

func parseConcepts(text string) map[feature][]*concept {
	byWord := map[feature][]*concept{}
	for columns := range token.Rows(text) {
		c := &concept{token.Hashed("@" + columns[0]), "@" + columns[0]}
		for w := range strings.FieldsSeq(columns[1]) {
			byWord[token.Hashed(w)] = append(byWord[token.Hashed(w)], c)
		}
	}
	return byWord
}
