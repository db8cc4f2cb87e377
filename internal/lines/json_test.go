package lines

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextAtEnds(t *testing.T) {
	long := strings.Repeat(`the \"type\": \\`, 1000)
	for name, c := range map[string]struct {
		line string
		want string // empty: not known
	}{
		"at the beginning":                     {`{"type":"user","message":"` + long + `"}`, "user"},
		"at the end":                           {`{"message":"` + long + `","type":"assistant"}`, "assistant"},
		"with spaces":                          {`{ "a" : 1 , "type" : "user" , "b" : [ 2 ] }`, "user"},
		"after what lies in the record":        {`{"a":{"type":"text","text":"` + long + `"},"b":[{"type":"x"}],"type":"user","c":{"type":"y"}}`, "user"},
		"before what lies in the record":       {`{"a":{"b":1},"type":"user","c":[{"d":"]}"}],"e":"f"}`, "user"},
		"at the end of what lies in it":        {`{"a":{"b":1,"type":"user"}}`, ""},
		"at the end, and a brace in a text":    {`{"a":{"b":1,"type":"user"},"c":"{"}`, ""},
		"after a list":                         {`{"a":["b","c"],"type":"user"}`, "user"},
		"before a list":                        {`{"a":{"type":"x"},"type":"user","b":["c"]}`, "user"},
		"of the last of a list":                {`{"a":[1,{"type":"user","b":["c"]}]}`, ""},
		"only of what lies in the record":      {`{"a":{"type":"text"},"b":"c"}`, ""},
		"a name in a text is none":             {`{"a":"\"type\":\"user\"","b":1}`, ""},
		"a text that ends in a backslash":      {`{"a":"\\","type":"user"}`, "user"},
		"a text of that name":                  {`{"a":"type","type":"user"}`, "user"},
		"not a text":                           {`{"type":1,"b":{"type":"user"}}`, ""},
		"in the middle":                        {`{"a":"` + long + `","type":"user","b":"` + long + `"}`, ""},
		"an empty text":                        {`{"type":""}`, ""},
		"empty":                                {``, ""},
		"a brace":                              {`{`, ""},
		"closings without openings":            {`}]}]`, ""},
		"a quote that is never closed":         {`{"type":"us`, ""},
		"a line that begins within a record":   {`"}},"type":"user"}`, "user"},
		"quotes and backslashes":               {`\\\"\"""\"`, ""},
		"what stands before the record itself": {"\ufeff" + `{"type":"user"}`, "user"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := TextAtEnds([]byte(c.line), "type")
			require.Equal(t, c.want, string(got))
			require.Equal(t, c.want != "" || name == "an empty text", ok)
		})
	}
}

func FuzzTextAtEndsIsWhatTheRecordSays(f *testing.F) {
	f.Add(`{"type":"user"}`)
	f.Add(`{"a":{"type":"b"},"c":["type"],"type":"\u0041"}`)
	f.Add(`{"message":"` + strings.Repeat("x", 3000) + `","type":"assistant"}`)
	f.Fuzz(func(t *testing.T, line string) {
		got, ok := TextAtEnds([]byte(line), "type")
		var record map[string]json.RawMessage
		if json.Unmarshal([]byte(line), &record) != nil {
			return
		}
		if !ok {
			return
		}
		if strings.Count(line, `"type"`) == 1 && !strings.Contains(line, `\u`) { // not a name twice, not a name in escapes
			require.Equal(t, string(record["type"]), `"`+string(got)+`"`)
		}
	})
}
