package transcript

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/lines"
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
	line := lines.Line{Path: "/nowhere/x.jsonl", Data: bytes.TrimSpace(encode(b, refused(map[string]any{"apiErrorStatus": 529}, "API Error: 529 Overloaded.")))}
	b.SetBytes(int64(len(line.Data)))
	for b.Loop() {
		a.Observe(a.Sources()[0], line)
	}
}

// BenchmarkLongTurns measures a transcript that is read while it grows, a few lines at a time: turns with
// many calls of tools, in which subagents and hooks make the model answer several times.
func BenchmarkLongTurns(b *testing.B) {
	const turns, answers, calls, batch = 5, 8, 50, 20
	result := asked(nil, []any{map[string]any{"type": "tool_result", "tool_use_id": "t1", "content": strings.Repeat("x", 3000)}})
	answer := said("claude-opus-5-5", "It is done.")
	answer["stop_reason"] = "end_turn"
	var records [][]byte
	for turn := range turns {
		records = append(records, encode(b, asked(nil, fmt.Sprint("do part ", turn))))
		for range answers {
			for range calls {
				records = append(records, encode(b, base(map[string]any{"type": "assistant", "message": said("claude-opus-5-5", "I look.")})), encode(b, result))
			}
			records = append(records, encode(b, base(map[string]any{"type": "assistant", "message": answer})))
		}
	}
	text := append(bytes.Join(records, []byte("\n")), '\n')
	path := filepath.Join(b.TempDir(), sessionA+".jsonl")
	require.NoError(b, os.WriteFile(path, text, 0o600))
	file, err := os.Open(path)
	require.NoError(b, err)
	defer file.Close()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		a := newReading()
		var at, block int
		for i, data := range records {
			if i%batch == 0 {
				block = at
			}
			if weight := Sift(data); weight == agent.Matters || weight == agent.Moves && i%batch < 2 { // the last moves of a batch are enough
				a.Observe(a.Sources()[0], lines.Line{Path: path, Offset: int64(at), Data: data, Before: text[block:at], File: file})
			}
			at += len(data) + 1
		}
	}
}
