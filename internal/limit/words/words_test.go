package words

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit/class"
	"resumed/internal/limit/token"
)

func corpus(t *testing.T) []string {
	var texts []string
	for _, name := range []string{"messages", "pasted", "families", "worded"} {
		f, err := os.Open("../testdata/" + name + ".jsonl")
		require.NoError(t, err)
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var row struct{ Text, Class string }
			require.NoError(t, json.Unmarshal(lines.Bytes(), &row))
			if row.Class != "none" {
				texts = append(texts, row.Text)
			}
		}
		require.NoError(t, lines.Err())
	}
	return texts
}

// A phrase that no example has is one that nobody can check.
func TestEachPhraseIsHitByAnExample(t *testing.T) {
	var lines token.Lexicon[string]
	unhit := map[string]bool{}
	for columns := range token.Rows(phrasesFile) {
		line := strings.Join(columns, " ")
		pattern, means, err := parsePhrase(columns)
		require.NoError(t, err)
		require.NotEqual(t, class.None, means.Class, line)
		lines.Add(line, pattern)
		unhit[line] = true
	}
	for _, text := range corpus(t) {
		// Records quote their words once more: what stands within is read like the rest.
		toks := token.Cut(strings.ReplaceAll(text, `\\\"`, `"`))
		for i := range toks {
			for h := range lines.Hits(toks, i) {
				delete(unhit, h.Means)
			}
		}
	}
	require.Empty(t, unhit, "without an example")
}

func TestPhrasesAreChecked(t *testing.T) {
	for _, line := range []string{
		"only a pattern", "rate limit\tnothing\t\t\t\t\n", "rate limit\trate_limit\todd\t\t\t\n", "rate limit\trate_limit\t\t\n",
	} {
		_, _, err := parsePhrase(strings.Split(line, "\t"))
		require.ErrorContains(t, err, "phrases: ", line)
	}
}

func TestWeightsAreReadAsTheyAreWritten(t *testing.T) {
	file, err := os.ReadFile("weights.tsv")
	require.NoError(t, err)
	text := string(file)
	w, err := ParseWeights(text)
	require.NoError(t, err)
	require.True(t, text == w.Format())
	_, err = ParseWeights("word\tx\n")
	require.Error(t, err)

	judges, err := unpack(packed)
	require.NoError(t, err)
	require.True(t, judges == text, "the program has other weights than weights.tsv: run make learn")
	again, err := Pack(text)
	require.NoError(t, err)
	got, err := unpack(again)
	require.NoError(t, err)
	require.True(t, got == text)
	_, err = unpack(packed[:len(packed)/2])
	require.ErrorContains(t, err, "weights: ")
}

// Training is a function of its examples. What only one of them has is no
// evidence.
func TestTheSameExamplesGiveTheSameWeights(t *testing.T) {
	examples := []Example{
		{"too many requests", class.RateLimit},
		{"many requests", class.RateLimit},
		{"your weekly limit is reached", class.UsageLimit},
		{"weekly limit reached", class.UsageLimit},
		{"the tests pass", class.None},
		{"all tests pass", class.None},
		{"your key is invalid", class.Auth},
		{"invalid key", class.Auth},
	}
	backward := slices.Clone(examples)
	slices.Reverse(backward)
	want := Train(examples)
	require.Equal(t, want.Format(), Train(backward).Format())
	require.NotContains(t, want.Format(), "too many")
	for _, e := range examples {
		best, over, _ := want.table().score(e.Text, token.Cut(e.Text)).Best()
		if e.Class == class.None {
			require.Negative(t, over)
		} else {
			require.Equal(t, e.Class, best, e.Text)
		}
	}
}

func TestBecauseOfWhichWords(t *testing.T) {
	const text = "Your weekly allowance is used up, it resets on Monday."
	said := Because(text, token.Cut(text), class.UsageLimit)
	require.NotEmpty(t, said)
	require.Contains(t, strings.Join(said, " "), "used up")
	require.Nil(t, Because(text, token.Cut(text), class.Timeout))
}
