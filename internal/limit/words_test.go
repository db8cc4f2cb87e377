package limit

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit/token"
)

// A phrase without an example cannot be checked, and one that others always come before does nothing.
func TestEachPhraseIsHitByAnExample(t *testing.T) {
	var lines token.Lexicon[string]
	unhit := map[string]bool{}
	for columns := range token.Rows(phrasesFile) {
		line := strings.Join(columns, " ")
		pattern, means, err := parsePhrase(columns)
		require.NoError(t, err)
		require.NotEqual(t, None, means.class, line)
		lines.Add(line, pattern)
		unhit[line] = true
	}
	for _, corpus := range corpora {
		for _, s := range samples(t, corpus.name) {
			if s.Class == None {
				continue
			}
			// Records contain quoted records: their words are read like the rest.
			toks := token.Cut(strings.ReplaceAll(s.Text, `\\\"`, `"`))
			for i := range toks {
				if h, ok := lines.At(toks, i); ok { // the first counts
					delete(unhit, h.Means)
				}
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
	learned := trainWeights(fewExamples)
	require.NotEmpty(t, learned)
	read, err := parseWeights(learned.format())
	require.NoError(t, err)
	require.Equal(t, learned.weights(), read)

	for _, bad := range []string{"word\t2\n", "word\t2\tx\n", "word\t2\t40000\n", "word\t2" + strings.Repeat("\t1", 12) + "\n"} {
		_, err = parseWeights(bad)
		require.ErrorContains(t, err, "weights: ")
	}
}

var fewExamples = []example{
	{"too many requests", RateLimit},
	{"many requests", RateLimit},
	{"your weekly limit is reached", UsageLimit},
	{"weekly limit reached", UsageLimit},
	{"the tests pass", None},
	{"all tests pass", None},
	{"your key is invalid", Auth},
	{"invalid key", Auth},
}

// The same examples give the same weights. A feature of only one example is no evidence.
func TestTheSameExamplesGiveTheSameWeights(t *testing.T) {
	backward := slices.Clone(fewExamples)
	slices.Reverse(backward)
	want := trainWeights(fewExamples)
	require.Equal(t, want.format(), trainWeights(backward).format())
	require.NotContains(t, want.format(), "too many")
	for _, e := range fewExamples {
		best, over, _ := want.weights().score(e.Text, token.Cut(e.Text)).best()
		if e.Class == None {
			require.Negative(t, over)
		} else {
			require.Equal(t, e.Class, best, e.Text)
		}
	}
}

func TestBecauseOfWhichWords(t *testing.T) {
	const text = "Your weekly allowance is used up, it resets on Monday."
	said := reasons(text, UsageLimit)
	require.NotEmpty(t, said)
	require.Contains(t, strings.Join(said, " "), "used up")
	require.Nil(t, reasons(text, Timeout))
}

// Panels and tables show limits and errors of others; a gauge before a refusal hides nothing.
func TestPanelsAndTablesAreNoRefusals(t *testing.T) {
	for text, want := range map[string]Class{
		"ctx ███░ 45% used\nYou've hit your limit · resets 2am (UTC)\n":                  UsageLimit,
		"5h limit: [██████░░░░] 60% left (resets 12:00)":                                 None,
		"| Error: rate limit exceeded | 70 | retried |":                                  None,
		"Downloading ██████████ 100%\nError: 429 Too Many Requests: rate limit exceeded": RateLimit,
	} {
		require.Equal(t, want, noon.Text(text).Class, text)
	}
}

// A line with a status counts before a later line that only reads like a refusal.
func TestAdviceAfterARefusalIsNotTheRefusal(t *testing.T) {
	v := noon.Text("Error: 429 Too Many Requests\nThe request was invalid. Check your request and try again.")
	require.Equal(t, RateLimit, v.Class)
}
