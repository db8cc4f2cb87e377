// Command learn trains the weights of limit/words from the examples in testdata,
// and prints how they do on examples of sources that they were not trained on.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"resumed/internal/limit/class"
	"resumed/internal/limit/facts"
	"resumed/internal/limit/token"
	"resumed/internal/limit/words"
)

// corpora are the examples that are learned from, and how much each of them
// counts: what agents really printed counts more than what is only like it.
// heldout.jsonl is none of them: it tells what the weights do with what nobody
// fitted.
var corpora = []struct {
	name   string
	counts int
}{{"messages.jsonl", 3}, {"pasted.jsonl", 2}, {"families.jsonl", 2}, {"worded.jsonl", 1}}

func main() {
	if err := run(os.Stdout, "internal/limit"); err != nil {
		fmt.Fprintln(os.Stderr, "learn:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, dir string) error {
	bySource, err := read(filepath.Join(dir, "testdata"))
	if err != nil {
		return err
	}
	var all []words.Example
	for _, examples := range bySource {
		all = append(all, examples...)
	}
	if err := crossValidate(out, bySource); err != nil {
		return err
	}
	weights := words.Train(all)
	file := filepath.Join(dir, "words", "weights.tsv")
	fmt.Fprintf(out, "%d examples, %d features: %s\n", len(all), len(weights), file)
	return os.WriteFile(file, []byte(weights.Format()), 0o644)
}

// read returns the examples by their source: an agent, a provider.
func read(dir string) (map[string][]words.Example, error) {
	bySource := map[string][]words.Example{}
	for _, corpus := range corpora {
		f, err := os.Open(filepath.Join(dir, corpus.name))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var row struct {
				Agent, Text string
				Class       class.Class
			}
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				return nil, fmt.Errorf("%s: %w", corpus.name, err)
			}
			for range corpus.counts {
				bySource[row.Agent] = append(bySource[row.Agent], examples(row.Text, row.Class)...)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", corpus.name, err)
		}
	}
	return bySource, nil
}

// examples returns what is learned from a message: as it is scored, without its
// structured part, and what that part says in words.
func examples(text string, c class.Class) []words.Example {
	record, rest, ok := facts.Split(text)
	if !ok {
		return nil
	}
	all := []words.Example{{Text: rest, Class: c}}
	if record != nil && c != class.None {
		for _, inner := range record.Texts {
			if len(token.Cut(inner)) > 2 {
				all = append(all, words.Example{Text: inner, Class: c})
			}
		}
	}
	return all
}

// folds is into how many parts the sources are divided, each of which is judged
// once by weights that were learned from the others.
const folds = 10

func crossValidate(out io.Writer, bySource map[string][]words.Example) error {
	type tally struct{ all, right, silent int }
	tallies := map[class.Class]*tally{}
	sources := slices.SortedFunc(maps.Keys(bySource), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(bySource[b]), len(bySource[a])), cmp.Compare(a, b))
	})
	for fold := range folds {
		var known, unseen []words.Example
		for i, source := range sources {
			if i%folds == fold {
				unseen = append(unseen, bySource[source]...)
			} else {
				known = append(known, bySource[source]...)
			}
		}
		weights := words.Train(known)
		counted := map[string]bool{}
		for _, e := range unseen {
			if counted[e.Text] {
				continue
			}
			counted[e.Text] = true
			t := tallies[e.Class]
			if t == nil {
				t = &tally{}
				tallies[e.Class] = t
			}
			t.all++
			best, over, _ := weights.Score(e.Text, token.Cut(e.Text)).Best()
			switch {
			case over < words.Enough:
				t.silent++
			case best == e.Class:
				t.right++
			}
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "of sources left out\texamples\tright\tsilent\tanother class\t\n")
	for _, c := range class.All() {
		if t := tallies[c]; t != nil {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t\n", c, t.all, t.right, t.silent, t.all-t.right-t.silent)
		}
	}
	return w.Flush()
}
