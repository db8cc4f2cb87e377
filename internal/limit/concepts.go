package limit

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

// concepts are what each word, or stem, means.
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
