package limit

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/limit/token"
)

// example is one line with a known meaning.
type example struct {
	Text  string
	Class Class
}

// namedWeights are weights with the names of their features.
type namedWeights map[feature]namedWeight

type namedWeight struct {
	name     string
	examples int // how many texts contain it
	adds     weight
}

// weights converts them to the type that the program uses.
func (w namedWeights) weights() weights {
	plain := weights{}
	for f, entry := range w {
		plain[f] = entry.adds
	}
	return plain
}

const (
	rounds       = 16
	wantMargin   = 2.0  // by how much the right class has to win
	mostStep     = 0.03 // how much one example may move a weight
	rarest       = 2    // a feature of fewer examples is left out
	smallest     = 0.04 // a weight below it is left out
	smallestPair = 0.08 // a pair of words with no larger weight is left out, and the others are learned again without it
	hundred      = 100
)

// exact are weights before they are rounded.
type exact [len(learned)]float64

func (e *exact) largest() float64 { return max(slices.Max(e[:]), -slices.Min(e[:])) }

// known is an example: its features, as places in a list of names, and its class, as a place in learned.
type known struct {
	features []int32
	class    int
}

// trainWeights learns weights from examples. The same examples give the same weights, in any order.
func trainWeights(examples []example) namedWeights {
	names, all := countFeatures(examples)
	keep := func(kept func(f int32) bool) {
		for i := range all {
			all[i].features = slices.DeleteFunc(all[i].features, func(f int32) bool { return !kept(f) })
		}
	}
	keep(func(f int32) bool { return names[f].examples >= rarest })
	first := fit(all, len(names))
	keep(func(f int32) bool {
		return !strings.Contains(names[f].name, " ") || first[f].largest() >= smallestPair
	})
	out := namedWeights{}
	for at, learned := range fit(all, len(names)) {
		entry := names[at]
		for i, w := range learned {
			if math.Abs(w) >= smallest {
				entry.adds[i] = int16(math.Round(w * hundred))
			}
		}
		if entry.adds != (weight{}) {
			out[named(entry.name)] = entry
		}
	}
	return out
}

// countFeatures returns the features of the examples, in the order of their texts.
func countFeatures(examples []example) (names []namedWeight, all []known) {
	places, lastIn := map[feature]int32{}, map[int32]string{}
	for _, e := range slices.SortedFunc(slices.Values(examples), func(a, b example) int {
		return cmp.Or(cmp.Compare(a.Text, b.Text), cmp.Compare(a.Class, b.Class))
	}) {
		k := known{class: slices.Index(learned[:], e.Class)}
		if k.class < 0 {
			continue
		}
		line := gathered{named: true}
		line.gather(e.Text, token.Cut(e.Text))
		for i, f := range line.features {
			at, ok := places[f]
			if !ok {
				at = int32(len(names))
				places[f] = at
				names = append(names, namedWeight{name: line.names[i]})
			}
			if lastIn[at] != e.Text {
				names[at].examples++
				lastIn[at] = e.Text
			}
			k.features = append(k.features, at)
		}
		all = append(all, k)
	}
	return names, all
}

// fit is an averaged perceptron with a margin.
func fit(all []known, features int) []exact {
	all = slices.Clone(all)
	now, sum := make([]exact, features), make([]exact, features)
	dice, step := rand.New(rand.NewPCG(1, 2)), 0.0
	for range rounds {
		dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, k := range all {
			step++
			var total exact
			for _, f := range k.features {
				for i, w := range &now[f] {
					total[i] += w
				}
			}
			rival := -1
			for i := range total {
				if i != k.class && (rival < 0 || total[i] > total[rival]) {
					rival = i
				}
			}
			short := total[rival] - total[k.class] + wantMargin
			if short <= 0 {
				continue
			}
			move := min(mostStep, short/float64(2*len(k.features)))
			for _, f := range k.features {
				now[f][k.class] += move
				now[f][rival] -= move
				sum[f][k.class] += move * step
				sum[f][rival] -= move * step
			}
		}
	}
	for f := range now {
		for i := range now[f] {
			now[f][i] -= sum[f][i] / step
		}
	}
	return now
}

const weightsHead = `// Made by make learn from the examples in testdata: how many of them contain a word, or two side by side, and what it adds for
// each class, in hundredths. A word with ~ is the beginning of longer ones, # a number, ^ and $ the ends of a line; @ is a concept of
// concepts.tsv, ! the look of a line.
// word	examples`

// format writes the weights, a line a feature, in the order of their names.
func (w namedWeights) format() string {
	var b strings.Builder
	b.WriteString(weightsHead)
	for _, c := range learned {
		fmt.Fprintf(&b, "\t%s", c)
	}
	b.WriteString("\n")
	for _, entry := range slices.SortedFunc(maps.Values(w), func(a, b namedWeight) int { return cmp.Compare(a.name, b.name) }) {
		line := strconv.AppendInt([]byte(entry.name+"\t"), int64(entry.examples), 10)
		for _, n := range entry.adds {
			line = append(line, '\t')
			if n != 0 {
				line = strconv.AppendInt(line, int64(n), 10)
			}
		}
		b.Write(bytes.TrimRight(line, "\t"))
		b.WriteString("\n")
	}
	return b.String()
}
