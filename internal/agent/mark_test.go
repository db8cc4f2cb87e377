package agent

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzMarkCutsAsBytesDo(f *testing.F) {
	f.Add([]byte(`{"a":"\"used\"","used_percent":12}`), `used"`, byte(2))
	f.Add([]byte(`aab`), `ab`, byte(0))
	f.Add([]byte(`ab`), `abc`, byte(1))
	f.Add([]byte(``), `ab`, byte(0))
	f.Add([]byte(`xxxxxxx`), `xxx`, byte(0))
	f.Fuzz(func(t *testing.T, line []byte, text string, by byte) {
		if len(text) < 2 {
			return
		}
		mark := MarkBy(text, text[int(by)%(len(text)-1)])
		before, after, found := mark.Cut(line)
		wantBefore, wantAfter, want := bytes.Cut(line, []byte(text))
		require.Equal(t, want, found)
		require.Equal(t, want, mark.In(line))
		require.Equal(t, string(wantBefore), string(before))
		require.Equal(t, string(wantAfter), string(after))
	})
}
