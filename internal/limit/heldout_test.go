package limit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// heldout are refusals and similar messages in the words of many providers. Nothing was learned from
// them, so they show how unknown messages are read.
func TestMessagesThatNobodyFitted(t *testing.T) {
	var refusals, named, acted, withStatus, nearMisses, alarms int
	for _, s := range samples(t, "heldout.jsonl") {
		class, err := ParseClass(s.Class)
		require.NoError(t, err)
		printed := noon.Text(s.Text)
		if class == None {
			nearMisses++
			if printed.Class != None {
				alarms++
				t.Logf("taken for %s: %s", printed.Class, s.Text)
			}
			continue
		}
		refusals++
		if printed.Class == class {
			named++
		}
		if noon.Refusal(Refusal{Text: s.Text}).WaitHelps == class.Transient() {
			acted++
		} else {
			t.Logf("should be %s: %s", class, s.Text)
		}
		if noon.Refusal(Refusal{Status: s.Status, Text: s.Text}).WaitHelps == class.Transient() {
			withStatus++
		}
	}
	t.Logf("of %d refusals: class as printed %d, action as recorded %d, with its status %d; of %d near-misses taken for one: %d",
		refusals, named, acted, withStatus, nearMisses, alarms)
	require.GreaterOrEqual(t, named, refusals*45/60)
	require.GreaterOrEqual(t, acted, refusals*57/60)
	require.GreaterOrEqual(t, withStatus, refusals*59/60)
	require.LessOrEqual(t, alarms, nearMisses/40)
}
