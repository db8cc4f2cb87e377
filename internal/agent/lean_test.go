package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestLeanCutsLongTextsAlone(t *testing.T) {
	long := strings.Repeat(`words and \"quotes\", `, 1000)
	line := `{"type":"user","a":"` + long + `","b":[{"c":"` + long + `"}],"d":"short","timestamp":"now"}`
	lean := Lean([]byte(line))
	require.Less(t, len(lean), 10<<10)
	var got struct {
		Type, A, D, Timestamp string
		B                     []struct{ C string }
	}
	require.NoError(t, json.Unmarshal(lean, &got))
	require.Equal(t, "user short now", got.Type+" "+got.D+" "+got.Timestamp)
	require.True(t, strings.HasPrefix(got.A, `words and "quotes", words`))
	require.True(t, strings.HasSuffix(got.A, `words and "quotes", `))
	require.Equal(t, got.A, got.B[0].C)

	for _, same := range []string{
		``, `{}`, strings.Repeat("no JSON ", 5000), `{"a":"` + long, `{"a":"` + strings.Repeat("x", longText-2) + `"}`,
		`[` + strings.Repeat(`"many short ones",`, 2000) + `1]`,
	} {
		require.Equal(t, same, string(Lean([]byte(same))))
	}
}

// Wherever the cuts are, JSON stays JSON with the same texts.
func FuzzLeanTearsNothing(f *testing.F) {
	f.Add("\\", uint16(3))
	f.Add("é", uint16(1))
	f.Add("\U0001F600", uint16(5))
	f.Add("\"\\\"", uint16(2))
	f.Add("\x01", uint16(0))
	f.Fuzz(func(t *testing.T, unit string, shift uint16) {
		if unit == "" || !utf8.ValidString(unit) {
			return
		}
		text := strings.Repeat("x", int(shift%64)) + strings.Repeat(unit, 2*longText/len(unit)+1)
		for _, ascii := range []bool{false, true} {
			line, err := json.Marshal(map[string]any{"before": 1, "text": text, "z": "after"})
			require.NoError(t, err)
			if ascii {
				line = escapeAll(line)
			}
			var got struct{ Text, Z string }
			require.NoError(t, json.Unmarshal(Lean(line), &got))
			require.Equal(t, "after", got.Z)
			head, tail, found := strings.Cut(got.Text, " … ")
			if found && !strings.Contains(unit, "…") {
				require.True(t, strings.HasPrefix(text, head), "the beginning")
				require.True(t, strings.HasSuffix(text, tail), "the end")
			}
		}
	})
}

// escapeAll writes every character beyond ASCII as escapes, as some programs do.
func escapeAll(line []byte) []byte {
	const digits = "0123456789abcdef"
	var out []byte
	for _, r := range string(line) {
		if r < 0x80 {
			out = append(out, byte(r))
			continue
		}
		units := []rune{r}
		if r > 0xFFFF {
			r -= 0x10000
			units = []rune{0xD800 + r>>10, 0xDC00 + r&0x3FF}
		}
		for _, u := range units {
			out = append(out, '\\', 'u', digits[u>>12&15], digits[u>>8&15], digits[u>>4&15], digits[u&15])
		}
	}
	return out
}
