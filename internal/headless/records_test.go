package headless_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/headless"
)

func TestRecordsAreFoundInAnyDress(t *testing.T) {
	for rule, c := range map[string]struct {
		text string
		want []string
	}{
		"one a line":             {"{\"a\":1}\n\n{\"a\":2}", []string{`{"a":1}`, `{"a":2}`}},
		"among words":            {"Loaded.\n{\"a\":1}\nnot {\"a\":2}\n", []string{`{"a":1}`}},
		"over several lines":     {"Error\n{\n  \"a\": 1\n}\n{\"a\":2}\n", []string{"{\n  \"a\": 1\n}", `{"a":2}`}},
		"a list":                 {"[{\"a\":1},2,{\"a\":3}]", []string{`{"a":1}`, `{"a":3}`}},
		"a list over lines":      {"[\n{\"a\":1},\n{\"a\":2}\n]\n", []string{`{"a":1}`, `{"a":2}`}},
		"one that begins a line": {"{\"a\":1,\n\"b\":2}\n", []string{"{\"a\":1,\n\"b\":2}"}},
		"one that is cut off":    {"{\"a\":1}\n{\"a\":", []string{`{"a":1}`}},
		"braces of a program":    {"{\n  code: 1\n}\n{\"a\":1}\n", []string{`{"a":1}`}},
		"nothing":                {"", nil},
	} {
		t.Run(rule, func(t *testing.T) {
			var got []string
			for record := range headless.Records(c.text) {
				got = append(got, string(record))
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestBrokenDocumentsAreNotTriedForEver(t *testing.T) {
	text := strings.Repeat("{\"a\": [\n", 50_000)
	for range headless.Records(text) {
		t.Fatal("there is no record")
	}
}

func FuzzRecords(f *testing.F) {
	f.Add("{\"a\":1}\n[{}]\n{\n\"b\":2}\nx")
	f.Fuzz(func(t *testing.T, text string) {
		for record := range headless.Records(text) {
			require.True(t, json.Valid(record))
		}
	})
}
