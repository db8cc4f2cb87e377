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
	name string
	adds weight
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
	rounds     = 16
	wantMargin = 2.0  // by how much the right class has to win
	mostStep   = 0.03 // how much one example may move a weight
	smallest   = 0.02 // a weight below it is left out
	rarest     = 2    // a feature of fewer examples is left out
	hundred    = 100
)

// trainWeights learns weights from examples with an averaged perceptron with a margin. The same
// examples give the same weights, in any order.
func trainWeights(examples []example) namedWeights {
	type known struct {
		features []int32 // places in names
		class    int
	}
	type counted struct {
		name  string
		texts int
	}
	places := map[feature]int32{}
	var names []counted
	var all []known
	var last string
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
				names = append(names, counted{name: line.names[i]})
			}
			if e.Text != last {
				names[at].texts++
			}
			k.features = append(k.features, at)
		}
		last = e.Text
		all = append(all, k)
	}
	for i := range all {
		all[i].features = slices.DeleteFunc(all[i].features, func(f int32) bool { return names[f].texts < rarest })
	}
	now, sum := make([][len(learned)]float64, len(names)), make([][len(learned)]float64, len(names))
	dice, step := rand.New(rand.NewPCG(1, 2)), 0.0
	for range rounds {
		dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, k := range all {
			step++
			var total [len(learned)]float64
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
	out := namedWeights{}
	for f, at := range places {
		entry, counts := namedWeight{name: names[at].name}, false
		for i := range entry.adds {
			w := now[at][i] - sum[at][i]/step
			if math.Abs(w) >= smallest {
				entry.adds[i], counts = int16(math.Round(w*hundred)), true
			}
		}
		if counts {
			out[f] = entry
		}
	}
	return out
}

// format writes the weights, a line a feature, in the order of their names.
func (w namedWeights) format() string {
	var b strings.Builder
	b.WriteString("// Made by make learn from the examples in testdata: what each word, or two side by side, adds for each class, in hundredths.\n// feature")
	for _, c := range learned {
		fmt.Fprintf(&b, "\t%s", c)
	}
	b.WriteString("\n")
	for _, entry := range slices.SortedFunc(maps.Values(w), func(a, b namedWeight) int { return cmp.Compare(a.name, b.name) }) {
		line := []byte(entry.name)
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
