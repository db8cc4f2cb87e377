package transcript

import (
	"bytes"
	"strings"
	"testing"

	"resumed/internal/agent"
)

// BenchmarkSift is the cost of a line by its kind: most bytes of a transcript
// are tool results, most of the rest are answers and bookkeeping.
func BenchmarkSift(b *testing.B) {
	body := strings.Repeat(`if err != nil { return \"a\" } `, 160) // about 4.8 KB
	head := `{"parentUuid":"f813150a-fca6-4e16-837c-66f377699d8e","isSidechain":false,`
	tail := `,"uuid":"1b7895d7-cd5b-4881-ba39-c6453d5802e4","timestamp":"2026-11-15T00:00:20.479Z","userType":"external","cwd":"/src/app","version":"2.1.325"}`
	for name, record := range map[string]string{
		"tool_result": `"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"` + body + `"}]}`,
		"answer":      `"message":{"model":"m","role":"assistant","content":[{"type":"text","text":"` + body + `"}]},"type":"assistant"`,
		"bookkeeping": `"attachment":{"type":"hook","content":"` + body + `"},"type":"attachment"`,
		"refusal":     `"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"` + body + `"}]},"isApiErrorMessage":true`,
	} {
		line := []byte(head + record + tail)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				Sift(line)
			}
		})
	}
}

func BenchmarkObserve(b *testing.B) {
	a := newReading()
	line := agent.Line{Path: "/nowhere/x.jsonl", Data: bytes.TrimSpace(encode(b, refused(map[string]any{"apiErrorStatus": 529}, "API Error: 529 Overloaded.")))}
	b.SetBytes(int64(len(line.Data)))
	for b.Loop() {
		a.Observe(a.Sources()[0], line)
	}
}
