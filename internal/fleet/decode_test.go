package fleet

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheLargestValueIsRead(t *testing.T) {
	var text string
	require.NoError(t, Decode([]byte(`"`+strings.Repeat("x", LargestValue-2)+`"`), &text))
	require.Error(t, Decode([]byte(`"`+strings.Repeat("x", LargestValue-1)+`"`), &text))
}

func TestAListOfAnotherHostIsCutAndNeverFilled(t *testing.T) {
	for n, kept := range map[int]int{0: 0, 1: 1, mostItems: mostItems, mostItems + 1: mostItems, 3 * mostItems: mostItems} {
		long := make([]int, n)
		for i := range long {
			long[i] = i + 1
		}
		data, err := json.Marshal(long)
		require.NoError(t, err)
		var read []int
		require.NoError(t, Decode(data, &read))
		require.Equal(t, long[:kept], read)
	}
}

func TestATimeThatCannotBeWrittenAgainIsNone(t *testing.T) {
	var v struct {
		At, Fine *time.Time
		Probe    *Probe
	}
	require.NoError(t, Decode([]byte(`{"At":"9999-12-31T23:59:59-23:59","Fine":"2026-11-15T12:00:00Z","Probe":{}}`), &v))
	require.Nil(t, v.At)
	require.Equal(t, noon, *v.Fine)
	require.Equal(t, &Probe{}, v.Probe, "only a time without a value is left out")
}

func TestAKeyIsShortAndCanBeShown(t *testing.T) {
	for key, good := range map[string]bool{
		strings.Repeat("k", 200): true, strings.Repeat("k", 201): false,
		"a1.anthropic": true, "": false, ".a": false, "a.": false, "a..b": false, "a b": false, "\x1b[2J": false,
	} {
		require.Equal(t, good, GoodKey(key), "%q", key)
	}
}

func TestAHostShowsItsSessionsOfUnknownAccountsToo(t *testing.T) {
	h := readHost(Entry{Key: HostKey("h"), Value: []byte(`{"host":"h","shows":{"":2,"a1.anthropic":3,"no key":4}}`)})
	require.Equal(t, map[string]int{"": 2, "a1.anthropic": 3}, h.Shows)
}
