package agent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
)

func TestRecordsAreFoundInAnyDress(t *testing.T) {
	type found struct {
		line int
		text string
	}
	for rule, c := range map[string]struct {
		text string
		want []found
	}{
		"one a line":             {"{\"a\":1}\n\n{\"a\":2}", []found{{1, `{"a":1}`}, {3, `{"a":2}`}}},
		"among words":            {"Loaded.\n{\"a\":1}\nnot {\"a\":2}\n", []found{{2, `{"a":1}`}}},
		"over several lines":     {"Error\n{\n  \"a\": 1\n}\n{\"a\":2}\n", []found{{2, "{\n  \"a\": 1\n}"}, {5, `{"a":2}`}}},
		"a list":                 {"[{\"a\":1},2,{\"a\":3}]", []found{{1, `{"a":1}`}, {1, `{"a":3}`}}},
		"a list over lines":      {"[\n{\"a\":1},\n{\"a\":2}\n]\n", []found{{1, `{"a":1}`}, {1, `{"a":2}`}}},
		"one that begins a line": {"{\"a\":1,\n\"b\":2}\n", []found{{1, "{\"a\":1,\n\"b\":2}"}}},
		"one that is cut off":    {"{\"a\":1}\n{\"a\":", []found{{1, `{"a":1}`}}},
		"braces of a program":    {"{\n  code: 1\n}\n{\"a\":1}\n", []found{{4, `{"a":1}`}}},
		"nothing":                {"", nil},
	} {
		t.Run(rule, func(t *testing.T) {
			var got []found
			for line, record := range agent.Records(c.text) {
				got = append(got, found{line, string(record)})
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestBrokenDocumentsAreNotTriedForEver(t *testing.T) {
	text := strings.Repeat("{\"a\": [\n", 50_000)
	for range agent.Records(text) {
		t.Fatal("there is no record")
	}
}

func TestRowsOfAScreenAreJoined(t *testing.T) {
	require.Equal(t, "visit https://chatgpt.com/settings/usage to purchase more",
		agent.Block{Rows: []string{"visit https://chatgpt.com/settings/", "usage to purchase", "  more ", ""}}.Text())
}

func TestAScreenIsSplitIntoBlocks(t *testing.T) {
	begins := func(row string) (string, string, bool) {
		words, ok := strings.CutPrefix(row, "* ")
		return "*", words, ok
	}
	goesOn := func(row string) bool { return strings.HasPrefix(row, " ") }
	blocks := agent.Blocks([]string{"lost", "* one", "  two", "other", "  lost", "* three", "", "  lost"}, begins, goesOn)
	require.Equal(t, []agent.Block{{Line: 2, Sign: "*", Rows: []string{"one", "  two"}}, {Line: 6, Sign: "*", Rows: []string{"three"}}}, blocks)
}

func TestAClockOnAScreenTellsWhenItWasRead(t *testing.T) {
	rec := agent.Recording{At: time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)}
	require.Equal(t, time.Date(2026, 11, 15, 0, 12, 0, 0, time.UTC), rec.LastShown(time.UTC, 0, 12))
	require.Equal(t, time.Date(2026, 11, 14, 23, 50, 0, 0, time.UTC), rec.LastShown(time.UTC, 23, 50), "not in the future")
	newYork, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	require.True(t, time.Date(2026, 11, 15, 5, 50, 0, 0, time.UTC).Equal(rec.LastShown(newYork, 0, 50)))
	rec.Exact = true
	require.Equal(t, rec.At, rec.LastShown(time.UTC, 0, 12))
}

func FuzzRecords(f *testing.F) {
	f.Add("{\"a\":1}\n[{}]\n{\n\"b\":2}\nx")
	f.Fuzz(func(t *testing.T, text string) {
		lines, last := strings.Count(text, "\n")+1, 0
		for line, record := range agent.Records(text) {
			require.True(t, json.Valid(record))
			require.GreaterOrEqual(t, line, last)
			require.LessOrEqual(t, line, lines)
			last = line
		}
	})
}
