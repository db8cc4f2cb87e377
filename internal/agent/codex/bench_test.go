package codex

import (
	"fmt"
	"strings"
	"testing"

	"resumed/internal/agent/codex/rollout"
	"resumed/internal/lines"
)

// BenchmarkSift measures a line by its kind: most bytes of a rollout are results of tools, which are
// recognised quickly.
func BenchmarkSift(b *testing.B) {
	body := strings.Repeat(`if err != nil { return \"a\" } `, 160) // about 4.8 KB
	for _, c := range []struct{ kind, line string }{
		{"output", said(`{"type":"function_call_output","output":"` + body + `"}`)},
		{"answer", said(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + body + `"}]}`)},
		{"call", said(`{"type":"function_call","arguments":"` + body + `"}`)},
		{"limits", windows("42.5@1794704327", "61.0@1794959927", "")},
		{"failure", failed(`"other"`, body)},
	} {
		b.Run(c.kind, func(b *testing.B) {
			line := []byte(c.line)
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				rollout.Sift(line)
			}
		})
	}
}

// BenchmarkObserve measures a line that is parsed, including the search for its directory and limits.
func BenchmarkObserve(b *testing.B) {
	a := newAgent(b, Options{})
	filler := make([]string, 2000)
	for i := range filler {
		filler[i] = said(fmt.Sprintf(`{"type":"function_call_output","output":%q}`, strings.Repeat("x", 2000)))
	}
	records := append([]string{meta(""), turnIn("/one", "")}, filler...)
	path := rolloutOf(b, append(records, windows("100@1794704327", "", ""), failed(`"usage_limit_exceeded"`, "You've hit your usage limit."))...)
	var end lines.Line
	if err := lines.Back(b.Context(), path, func(l lines.Line) bool {
		end = l
		end.Data = []byte(string(l.Data))
		return false
	}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := a.Observe(a.Sources()[0], end); !ok {
			b.Fatal("it was passed over")
		}
	}
}
