package copilot

import (
	"bytes"

	"resumed/internal/agent"
)

// weights are what events may be worth, by their type. Within a JSON string a quote is
// escaped, so these stand only where a record itself has them.
var weights = []struct {
	quoted []byte
	weight agent.Weight
}{
	{[]byte(`"` + failure + `"`), agent.Matters},
	{[]byte(`"` + prompt + `"`), agent.Matters},
	{[]byte(`"` + aborted + `"`), agent.Matters},
	{[]byte(`"` + rewound + `"`), agent.Matters},
	{[]byte(`"` + answer + `"`), agent.Moves},
}

var typeFirst = []byte(`{"type":`)

// sift passes over bookkeeping, over results of tools and over what is only shown.
func sift(line []byte) agent.Weight {
	rest, first := bytes.CutPrefix(line, typeFirst)
	for _, w := range weights {
		if first && bytes.HasPrefix(rest, w.quoted) || !first && bytes.Contains(line, w.quoted) {
			return w.weight
		}
	}
	return agent.Nothing
}
