package kimi

import (
	"bytes"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

var quotedMeasure = []byte(`"` + measured + `"`)

// size returns how large the context was at an answer. Who was asked, and how long they
// keep it, is not known.
func size(line agent.Line) (resume.Context, bool) {
	if !bytes.Contains(line.Data, quotedMeasure) {
		return resume.Context{}, false
	}
	r, ok := parse(line.Data)
	if !ok || r.Type != measured || r.Tokens <= 0 {
		return resume.Context{}, false
	}
	return resume.Context{Tokens: r.Tokens, At: r.at(line.ModTime)}, true
}
