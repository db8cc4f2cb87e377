package lines_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/lines"
)

// A field of another type is lost alone; a line that is not JSON is no record.
func TestAFieldOfAnotherTypeCostsTheFieldAlone(t *testing.T) {
	type record struct {
		Type   string `json:"type"`
		Status int    `json:"status"`
	}
	got, ok := lines.Parse[record]([]byte(`{"status":"many","type":"error"}`))
	require.True(t, ok)
	require.Equal(t, record{Type: "error"}, got)
	for _, line := range []string{``, `{"type":"a"`, `{"type":"a"} x`, `{type:"a"}`, "{\"type\":\"a\tb\"}"} {
		_, ok := lines.Parse[record]([]byte(line))
		require.False(t, ok, line)
	}
}

func TestALineIsSearchedForWords(t *testing.T) {
	words := lines.Any(`"user"`, "Note")
	require.True(t, words.In([]byte(`{"type": "user"}`)))
	require.True(t, words.In([]byte(`{"usageLimitNote":1}`)))
	require.False(t, words.In([]byte(`{"text":"a \"user\" said"}`)), "a quote in a text is escaped")
	require.False(t, lines.Any().In([]byte(`{}`)))
}

func TestAFieldOfTheRecordItself(t *testing.T) {
	long := strings.Repeat(`the \"type\": \\`, 1000)
	for line, want := range map[string]string{
		`{"type":"user","message":"` + long + `"}`:            "user",
		`{"message":"` + long + `","type":"assistant"}`:       "assistant",
		`{ "a" : 1 , "type" : "user" , "b" : [ 2 ] }`:         "user",
		`{"a":{"type":"x"},"b":[{"type":"y"}],"type":"user"}`: "user",
		`{"a":{"b":1,"type":"user"},"c":"{"}`:                 "",
		`{"a":[1,{"type":"user","b":["c"]}]}`:                 "",
		`{"a":"\"type\":\"user\"","b":1}`:                     "",
		`{"a":"\\","type":"user"}`:                            "user",
		`{"a":"type","type":"user"}`:                          "user",
		`{"type":1,"b":{"type":"user"}}`:                      "",
		"\ufeff" + `{"type":"user"}`:                          "user",
		`{"type":"user","cut":"of`:                            "user",
		`{"type":"us`:                                         "",
		`}]}]`:                                                "",
		`\\\"\"""\"`:                                          "",
		``:                                                    "",
	} {
		got, ok := lines.Text([]byte(line), "type")
		require.Equal(t, want, string(got), line)
		require.Equal(t, want != "", ok, line)
	}
}

func FuzzAFieldIsWhatTheRecordSays(f *testing.F) {
	f.Add(`{"type":"user"}`)
	f.Add(`{"a":{"type":"b"},"c":["type"],"type":"\u0041"}`)
	f.Fuzz(func(t *testing.T, line string) {
		got, ok := lines.Text([]byte(line), "type")
		var record map[string]json.RawMessage
		if !ok || json.Unmarshal([]byte(line), &record) != nil || strings.Count(line, `"type"`) != 1 || strings.Contains(line, `\u`) {
			return // not a name twice, not a name in escapes
		}
		require.Equal(t, string(record["type"]), `"`+string(got)+`"`)
	})
}
