// Command learn trains the weights of limit/words from the examples in testdata,
// and prints how messages of sources are read that were not trained on.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"resumed/internal/limit"
	"resumed/internal/limit/class"
	"resumed/internal/limit/facts"
	"resumed/internal/limit/token"
	"resumed/internal/limit/words"
)

// corpora are the examples that are learned from, and how much each of them
// counts: what agents really printed counts more than what is only like it.
// heldout.jsonl is none of them: it tells what becomes of messages that nobody
// fitted.
var corpora = []struct {
	name   string
	counts int
}{{"messages.jsonl", 3}, {"pasted.jsonl", 2}, {"families.jsonl", 2}, {"worded.jsonl", 1}, {"elsewhere.jsonl", 1}}

func main() {
	wrong := flag.Bool("wrong", false, "print each line of a source left out that is read wrong")
	flag.Parse()
	if err := run(os.Stdout, "internal/limit", *wrong); err != nil {
		fmt.Fprintln(os.Stderr, "learn:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, dir string, wrong bool) error {
	bySource, err := read(filepath.Join(dir, "testdata"))
	if err != nil {
		return err
	}
	if err := leaveOut(out, bySource, wrong); err != nil {
		return err
	}
	all := flat(bySource)
	weights := train(all)
	file := filepath.Join(dir, "words", "weights.tsv")
	fmt.Fprintf(out, "%d examples, %d features: %s\n", len(all), len(weights), file)
	return write(file, weights.Format())
}

// write writes the weights as people read them, and beside it as the program has them.
func write(file, text string) error {
	packed, err := words.Pack(text)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	return os.WriteFile(file+".gz", packed, 0o644)
}

// row is a line of a corpus.
type row struct {
	Agent, Text string
	Class       class.Class
	counts      int
}

// read returns the rows by their source: an agent, a provider.
func read(dir string) (map[string][]row, error) {
	bySource := map[string][]row{}
	for _, corpus := range corpora {
		f, err := os.Open(filepath.Join(dir, corpus.name))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			r := row{counts: corpus.counts}
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				return nil, fmt.Errorf("%s: %w", corpus.name, err)
			}
			bySource[r.Agent] = append(bySource[r.Agent], r)
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", corpus.name, err)
		}
	}
	return bySource, nil
}

func flat(bySource map[string][]row) []row {
	var all []row
	for _, rows := range bySource {
		all = append(all, rows...)
	}
	return all
}

func train(rows []row) words.Weights {
	var all []words.Example
	for _, r := range rows {
		for range r.counts {
			all = append(all, examples(r.Text, r.Class)...)
		}
	}
	return words.Train(all)
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

// folds is into how many parts the sources are divided, each of which is read
// once with weights that were learned from the others.
const folds = 10

var noon = limit.Reader{At: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC), Zone: time.UTC, Grace: 2 * time.Hour}

// tally counts how the messages of one class were read.
type tally struct {
	all, right, silent int // as anybody may have printed them
	acted              int // as an agent's own record: to wait, or to tell a person
}

// leaveOut prints how messages are read of sources that nothing was learned from.
func leaveOut(out io.Writer, bySource map[string][]row, wrong bool) error {
	tallies := map[class.Class]*tally{}
	for _, c := range class.All() {
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
		words.Use(train(known))
		for _, r := range unseen {
			printed, recorded := noon.Text(r.Text), noon.Refusal(limit.Refusal{Text: r.Text})
			tallies[r.Class].count(r.Class, printed, recorded)
			if wrong && printed.Class != r.Class {
				fmt.Fprintf(out, "%s: %s as %s, recorded as %s: %.150q\n", r.Agent, r.Class, printed.Class, recorded.Class, r.Text)
			}
		}
	}
	return show(out, tallies)
}

func (t *tally) count(want class.Class, printed, recorded limit.Verdict) {
	t.all++
	switch printed.Class {
	case want:
		t.right++
	case class.None:
		t.silent++
	}
	if recorded.WaitHelps == want.Transient() {
		t.acted++
	}
}

func show(out io.Writer, tallies map[class.Class]*tally) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "of sources left out\texamples\tclass as printed\tsilent\tanother class\taction as recorded\t\n")
	var sum tally
	for _, c := range class.All() {
		t := tallies[c]
		switch {
		case c == class.None:
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
