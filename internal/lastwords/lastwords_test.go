package lastwords_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/lastwords"
	"resumed/internal/limit"
)

var reader = limit.Reader{At: time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC), Zone: time.UTC}

func TestTheLastWordsAreBounded(t *testing.T) {
	require.Equal(t, "b\n\nc", lastwords.Last("b\n\nc\n\n"))
	require.Equal(t, 12, strings.Count(lastwords.Last(strings.Repeat("line\n", 100)), "line"))
	require.Equal(t, "the end", lastwords.Last(strings.Repeat("x", 100_000)+"\nthe end\n\n"), "a line that is too long is left out")
	require.Empty(t, lastwords.Last("\n \n"))
}

func TestJudge(t *testing.T) {
	for rule, c := range map[string]struct {
		texts []string
		class limit.Class
		words string
	}{
		"the line that tells":          {[]string{"building\nError: 429 Too Many Requests\nbye now"}, limit.RateLimit, "Error: 429 Too Many Requests"},
		"the first text that tells":    {[]string{"529 Overloaded", "Error: 429 Too Many Requests"}, limit.Overloaded, "529 Overloaded"},
		"what is tried again is last":  {[]string{"529 Overloaded · Retrying in 3s", "Error: 429 Too Many Requests"}, limit.RateLimit, "Error: 429 Too Many Requests"},
		"what is tried again at all":   {[]string{"529 Overloaded · Retrying in 3s", "bye now"}, limit.Overloaded, "529 Overloaded · Retrying in 3s"},
		"the words of a record":        {[]string{`{"type":"error","error":{"data":{"message":"429 Too Many Requests"}}}`}, limit.RateLimit, "429 Too Many Requests"},
		"nothing, with the last words": {[]string{"", "make: *** [all] Error 2\n---\n"}, limit.None, "make: *** [all] Error 2"},
	} {
		t.Run(rule, func(t *testing.T) {
			v, words := lastwords.Judge(reader, c.texts...)
			require.Equal(t, c.class.String(), v.Class.String())
			require.Equal(t, c.words, words)
		})
	}
}

func TestAStackIsNoLastWord(t *testing.T) {
	stack := strings.Repeat("    at async run (file:///a.js:1:2)\n", 40)
	require.Equal(t, "Error: no more\n  at noon it was over", lastwords.Last("Error: no more\n"+stack+"  at noon it was over\n"))
}
