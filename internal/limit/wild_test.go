package limit

import (
	"hash/fnv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The messages of wild.jsonl were quoted in public, of many agents and providers, and labelled before this
// package read them. Half of them, by a hash of their text, are examples that the weights are learned
// from. The other half, and those of heldout.jsonl, in the words of many providers, show how unknown
// messages are read.
func TestMessagesThatNobodyFitted(t *testing.T) {
	for _, part := range []struct {
		name, file string
		has        func(text string) bool
		floor      reading // alarms: the most
	}{
		{"fitted", "wild.jsonl", fitted, reading{named: 83, acted: 85, withStatus: 85, timed: 85, alarms: 1}},
		{"unseen", "wild.jsonl", func(text string) bool { return !fitted(text) }, reading{named: 73, acted: 83, withStatus: 83, timed: 86, alarms: 2}},
		{"held out", "heldout.jsonl", func(string) bool { return true }, reading{named: 475, acted: 525, withStatus: 531, alarms: 8}},
	} {
		t.Run(part.name, func(t *testing.T) {
			var got reading
			for _, s := range samples(t, part.file) {
				if !part.has(s.Text) {
					continue
				}
				got.read(t, s)
				if part.floor.timed > 0 {
					got.readTime(t, s)
				}
			}
			t.Logf("of %d refusals: class as printed %d, action as recorded %d, with its status %d, reset time %d; of %d near-misses taken for one: %d",
				got.refusals, got.named, got.acted, got.withStatus, got.timed, got.nearMisses, got.alarms)
			require.GreaterOrEqual(t, got.named, part.floor.named)
			require.GreaterOrEqual(t, got.acted, part.floor.acted)
			require.GreaterOrEqual(t, got.withStatus, part.floor.withStatus)
			require.GreaterOrEqual(t, got.timed, part.floor.timed)
			require.LessOrEqual(t, got.alarms, part.floor.alarms)
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
	withStatus           int // likewise, with its status
	timed                int // when it lifts, likewise
	alarms               int // near-misses that were taken for a refusal
}

// read adds how one message is read.
func (n *reading) read(t *testing.T, s sample) {
	class, r := s.Class, s.reader()
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
	if r.Refusal(Refusal{Status: s.Status, Text: s.Text}).WaitHelps == class.Transient() {
		n.withStatus++
	}
}

// readTime adds whether the time when a refusal lifts is read. The hint "?" is for messages that state several times.
func (n *reading) readTime(t *testing.T, s sample) {
	if s.Class == None {
		return
	}
	r := s.reader()
	got := r.Refusal(Refusal{Text: s.Text}).Reset
	if s.ResetHint == "?" {
		n.timed++
		return
	}
	want, stated := s.want(t, r)
	if stated == got.Stated() && (!stated || want.Sub(got.At).Abs() <= time.Second) {
		n.timed++
	} else {
		t.Logf("lifts at %v, should be %v: %s", got.At, want, s.Text)
	}
}
