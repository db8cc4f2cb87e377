package gemini

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/headless"
	"resumed/internal/limit"
)

var endedAt = time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)

func printedBy(t testing.TB, name string) string {
	data, err := os.ReadFile(filepath.Join("testdata", "run", name))
	require.NoError(t, err)
	return string(data)
}

func TestTheStreamsOfARunSayWhyItFailed(t *testing.T) {
	for name, want := range map[string]limit.Class{
		"capacity.stdout":        limit.Overloaded,
		"capacity.stderr":        limit.Overloaded,
		"ctx400.stdout":          limit.ContextOverflow,
		"ctx400.stderr":          limit.ContextOverflow,
		"empty.stdout":           limit.ServerError,
		"hook_quota_long.stderr": limit.UsageLimit,
		"key_invalid.stdout":     limit.Auth,
		"key_invalid.stderr":     limit.Auth,
		"mid_err.stdout":         limit.Network,
		"mid_reset.stdout":       limit.Network,
		"mid_reset.stderr":       limit.Network,
		"nf404.stdout":           limit.BadRequest,
		"nf404.stderr":           limit.BadRequest,
		"reskilled.stdout":       limit.None,
		"rl_2s.stdout":           limit.None, // killed while it tried again
		"rl_2s.stderr":           limit.None,
		"rl_plain.stdout":        limit.RateLimit,
		"rl_plain.stderr":        limit.RateLimit,
		"s500.stdout":            limit.None, // so was this one
		"s500.stderr":            limit.None,
		"s503.stdout":            limit.Overloaded,
		"s503.stderr":            limit.Overloaded,
	} {
		t.Run(name, func(t *testing.T) {
			run := headless.Printed{Stdout: printedBy(t, name)}
			if strings.HasSuffix(name, ".stderr") {
				run = headless.Printed{Stderr: run.Stdout}
			}
			v, words := failedRun(limit.Reader{At: endedAt, Zone: time.UTC}, run)
			require.Equal(t, want.String(), v.Class.String(), words)
			require.Equal(t, want == limit.None, words == "")
			require.False(t, v.InProgress)
			require.Equal(t, want.Transient(), v.WaitHelps)
			require.Equal(t, want == limit.UsageLimit, v.Reset.Stated())
		})
	}
}

// What goes to standard error may come with the rest, as with 2>&1.
func TestBothStreamsInOne(t *testing.T) {
	said := printedBy(t, "rl_plain.stderr") + "An unexpected critical error occurred:[object Object]\n" // as 0.61 ends
	v, _ := failedRun(limit.Reader{At: endedAt}, headless.Printed{Stdout: "All is well.\n" + said})
	require.Equal(t, limit.RateLimit, v.Class)
	v, _ = failedRun(limit.Reader{At: endedAt}, headless.Printed{Stdout: said + "That is what it would say.\n"})
	require.Equal(t, limit.None, v.Class, "an answer about it")
}

func TestARunSaysWhenItsQuotaIsThereAgain(t *testing.T) {
	text, document, found := strings.Cut(printedBy(t, "hook_quota_long.stderr"), "}\n{")
	require.True(t, found)
	for rule, run := range map[string]headless.Printed{
		"in its words":    {Stderr: text + "}\n"},
		"in its document": {Stderr: "{" + document},
	} {
		v, _ := failedRun(limit.Reader{At: endedAt}, run)
		require.Equal(t, limit.UsageLimit, v.Class, rule)
		require.Equal(t, endedAt.Add(11520*time.Second), v.Reset.At, rule)
	}
}

func TestPlainTextSaysWhyARunFailedAtItsEnd(t *testing.T) {
	v, words := failedRun(limit.Reader{At: endedAt}, headless.Printed{Stdout: "Thinking.\n[API Error: terminated]\n"})
	require.Equal(t, limit.Network, v.Class)
	require.Equal(t, "[API Error: terminated]", words)
	v, _ = failedRun(limit.Reader{At: endedAt}, headless.Printed{Stdout: "[API Error: You exceeded your current quota, please check your plan and billing details.\n" +
		"Suggested retry after 11520s.]\nPlease wait and try again later. To increase your limits, request a quota increase.\n"})
	require.Equal(t, endedAt.Add(11520*time.Second), v.Reset.At)
	for _, text := range []string{"[API Error: 401] is what it says.", "[API Error: terminated]\nis over, and all is well.", "The text [API Error: 401] means that a key is wrong.", "done", ""} {
		v, _ = failedRun(limit.Reader{At: endedAt}, headless.Printed{Stdout: text})
		require.Equal(t, limit.None, v.Class, text)
	}
}

// What failed before is over.
func TestARunThatHasAnAnswerHasNotFailed(t *testing.T) {
	for rule, stdout := range map[string]string{
		"in a document": "{\n  \"session_id\": \"4f2a-1\",\n  \"response\": \"done\",\n  \"stats\": {}\n}\n",
		"in a stream":   `{"type":"error","message":"[API Error: terminated]"}` + "\n" + `{"type":"result","status":"success","stats":{}}` + "\n",
	} {
		v, _ := failedRun(limit.Reader{At: endedAt}, headless.Printed{Stdout: stdout, Stderr: printedBy(t, "rl_plain.stderr")})
		require.Equal(t, limit.None, v.Class, rule)
	}
}

func FuzzFailedRun(f *testing.F) {
	paths, err := filepath.Glob("testdata/run/*")
	require.NoError(f, err)
	for _, path := range paths {
		f.Add(printedBy(f, filepath.Base(path)), "")
	}
	f.Fuzz(func(t *testing.T, stdout, stderr string) {
		v, _ := failedRun(limit.Reader{At: endedAt, Zone: time.UTC}, headless.Printed{Stdout: stdout, Stderr: stderr})
		require.True(t, v.Reset.At.IsZero() || v.Reset.Source != "")
	})
}
