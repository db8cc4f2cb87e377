package limit

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit/token"
)

var (
	learnFlag = flag.Bool("learn", false, "learn weights.tsv from the examples, and print how messages of sources are read that were left out")
	wrongFlag = flag.Bool("wrong", false, "with -learn: print each line of a source left out that is read wrong")
)

// corpora are the examples that the weights are learned from, and how much each counts: what agents
// really printed counts more than similar messages. heldout.jsonl is not one of them: it shows how
// unknown messages are read.
var corpora = []struct {
	name   string
	counts int
}{{"messages.jsonl", 3}, {"pasted.jsonl", 2}, {"families.jsonl", 2}, {"worded.jsonl", 1}, {"elsewhere.jsonl", 1}, {"wild.jsonl", 2}}

// The weights in the file are those that `make learn` computes from the examples.
func TestTheWeightsAreThoseOfTheExamples(t *testing.T) {
	bySource := readExamples(t)
	all := flat(bySource)
	learned := trainRows(all)
	if *learnFlag {
		require.NoError(t, leaveOut(t.Output(), bySource, *wrongFlag))
		t.Logf("%d examples, %d features: weights.tsv", len(all), len(learned))
		require.NoError(t, os.WriteFile("weights.tsv", []byte(learned.format()), 0o644))
		return
	}
	require.True(t, learned.format() == weightsFile, "the examples have changed: run make learn")
}

// row is a line of a corpus.
type row struct {
	sample
	counts int
}

// readExamples returns the rows by their source: an agent, a provider.
func readExamples(t *testing.T) map[string][]row {
	bySource := map[string][]row{}
	for _, corpus := range corpora {
		for _, s := range samples(t, corpus.name) {
			if corpus.name != "wild.jsonl" || fitted(s.Text) {
				bySource[s.Agent] = append(bySource[s.Agent], row{s, corpus.counts})
			}
		}
	}
	return bySource
}

func flat(bySource map[string][]row) []row {
	var all []row
	for _, rows := range bySource {
		all = append(all, rows...)
	}
	return all
}

func trainRows(rows []row) namedWeights {
	var all []example
	for _, r := range rows {
		for range r.counts {
			all = append(all, examples(r.Text, r.Class)...)
		}
	}
	return trainWeights(all)
}

// examples returns what is learned from a message: the message without its structured part, as it is
// scored, and the texts of that part.
func examples(text string, c Class) []example {
	record, rest, ok := splitRecord(text)
	if !ok {
		return nil
	}
	all := []example{{Text: rest, Class: c}}
	if record != nil && c != None {
		for _, inner := range record.texts {
			if len(token.Cut(inner)) > 2 {
				all = append(all, example{Text: inner, Class: c})
			}
		}
	}
	return all
}

// folds is the number of parts of the sources. Each part is read once with weights that were learned
// from the others.
const folds = 10

// tally counts how the messages of one class were read.
type tally struct {
	all, right, silent int // read as text that anybody may have printed
	acted              int // read as an agent's own record: wait, or report to a person
}

// leaveOut prints how the messages of each source are read with weights that were learned without it.
func leaveOut(out io.Writer, bySource map[string][]row, wrong bool) error {
	before := trained
	defer func() { trained = before }()
	tallies := map[Class]*tally{}
	for _, c := range Classes() {
		tallies[c] = &tally{}
	}
	sources := slices.SortedFunc(maps.Keys(bySource), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(bySource[b]), len(bySource[a])), cmp.Compare(a, b))
	})
	for fold := range folds {
		var known, unseen []row
		for i, source := range sources {
			if i%folds == fold {
				unseen = append(unseen, bySource[source]...)
			} else {
				known = append(known, bySource[source]...)
			}
		}
		learned := trainRows(known).weights()
		trained = func() weights { return learned }
		for _, r := range unseen {
			printed, recorded := noon.Text(r.Text), noon.Refusal(Refusal{Text: r.Text})
			tallies[r.Class].count(r.Class, printed, recorded)
			if wrong && printed.Class != r.Class {
				fmt.Fprintf(out, "%s: %s as %s, recorded as %s: %.150q\n", r.Agent, r.Class, printed.Class, recorded.Class, r.Text)
			}
		}
	}
	return show(out, tallies)
}

func (t *tally) count(want Class, printed, recorded Verdict) {
	t.all++
	switch printed.Class {
	case want:
		t.right++
	case None:
		t.silent++
	default:
	}
	if recorded.WaitHelps == want.Transient() {
		t.acted++
	}
}

func show(out io.Writer, tallies map[Class]*tally) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "of sources left out\texamples\tclass as printed\tsilent\tanother class\taction as recorded\t\n")
	var sum tally
	for _, c := range Classes() {
		t := tallies[c]
		switch {
		case c == None:
			fmt.Fprintf(w, "no refusal\t%d\t%d\t\t%d\t\t\n", t.all, t.right, t.all-t.right)
		case t.all > 0:
			t.show(w, c.String())
			sum.all, sum.right, sum.silent, sum.acted = sum.all+t.all, sum.right+t.right, sum.silent+t.silent, sum.acted+t.acted
		}
	}
	sum.show(w, "all refusals")
	return w.Flush()
}

func (t *tally) show(w io.Writer, name string) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t\n", name, t.all, t.right, t.silent, t.all-t.right-t.silent, t.acted)
}
