package limit

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func BenchmarkText(b *testing.B) {
	r := Reader{At: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC), Zone: time.UTC, Grace: 2 * time.Hour}
	for name, text := range map[string]string{
		"clock":  "You've hit your session limit · resets 3:20am (Europe/Brussels)",
		"long":   "■ You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at Feb 23rd, 2027 1:07 AM. Thank you.",
		"record": `API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_011CYwUsfxsLS"} · Retrying in 4 seconds… (attempt 4/10) and some more words to make it long`,
		"thrown": `requests.exceptions.ConnectionError: HTTPSConnectionPool(host='api.example.com', port=443): Max retries exceeded with url: /v1/messages (Caused by NewConnectionError('Failed to establish a new connection: refused'))`,
		"prose":  "I refactored the rate limiter module for you, and the importer now backs off when it sees too many requests errors; the tests pass, and the docs mention a limit of sixty requests per minute for all.",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Text(text)
			}
		})
	}
}

// BenchmarkParseWeights is what the first text that is judged costs, and the memory that its weights use from then on.
func BenchmarkParseWeights(b *testing.B) {
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w, err := parseWeights(weightsFile)
	require.NoError(b, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
		_, _ = parseWeights(weightsFile)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1024, "KB-held")
	runtime.KeepAlive(w)
}
