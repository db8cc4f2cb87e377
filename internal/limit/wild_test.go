package limit

import (
	"hash/fnv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The messages of wild.jsonl were quoted in public, of many agents and providers, and labelled before this
// package read them. Half of them, by a hash of their text, are examples that the weights are learned
// from. The other half shows how unknown messages are read.
func TestWordsInTheWild(t *testing.T) {
	for _, half := range []struct {
		name   string
		fitted bool
		floor  reading // alarms: the most
	}{
		{"fitted", true, reading{named: 83, acted: 85, timed: 85, alarms: 1}},
		{"unseen", false, reading{named: 73, acted: 83, timed: 86, alarms: 2}},
	} {
		t.Run(half.name, func(t *testing.T) {
			var got reading
			for _, s := range samples(t, "wild.jsonl") {
				if fitted(s.Text) == half.fitted {
					got.read(t, s)
				}
			}
			t.Logf("of %d refusals: class as printed %d, action as recorded %d, reset time %d; of %d near-misses taken for one: %d",
				got.refusals, got.named, got.acted, got.timed, got.nearMisses, got.alarms)
			require.GreaterOrEqual(t, got.named, half.floor.named)
			require.GreaterOrEqual(t, got.acted, half.floor.acted)
			require.GreaterOrEqual(t, got.timed, half.floor.timed)
			require.LessOrEqual(t, got.alarms, half.floor.alarms)
		})
	}
}

// fitted reports whether a message of wild.jsonl is one of the examples.
func fitted(text string) bool {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()%2 == 0
}

// reading counts how messages were read.
type reading struct {
	refusals, nearMisses int
	named                int // the class, as printed text
	acted                int // whether waiting helps, as an agent's own record
	timed                int // when it lifts, likewise
	alarms               int // near-misses that were taken for a refusal
}

// read adds how one message is read. The hint "?" is for messages that state several times.
func (n *reading) read(t *testing.T, s sample) {
	class, err := ParseClass(s.Class)
	require.NoError(t, err)
	r := s.reader()
	printed, recorded := r.Text(s.Text), r.Refusal(Refusal{Text: s.Text})
	if class == None {
		n.nearMisses++
		if printed.Class != None {
			n.alarms++
			t.Logf("taken for %s: %s", printed.Class, s.Text)
		}
		return
	}
	n.refusals++
	if printed.Class == class {
		n.named++
	} else {
		t.Logf("should be %s, not %s: %s", class, printed.Class, s.Text)
	}
	if recorded.WaitHelps == class.Transient() {
		n.acted++
	} else {
		t.Logf("recorded as %s, should be %s: %s", recorded.Class, class, s.Text)
	}
	if s.ResetHint == "?" {
		n.timed++
		return
	}
	want, stated := s.want(t, r)
	if stated == recorded.Reset.Stated() && (!stated || want.Sub(recorded.Reset.At).Abs() <= time.Second) {
		n.timed++
	} else {
		t.Logf("lifts at %v, should be %v: %s", recorded.Reset.At, want, s.Text)
	}
}
