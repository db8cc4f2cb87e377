package gemini

import (
	"bytes"
	"encoding/json"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// size returns how large the context was at an answer. How long the provider keeps
// it is not known.
func size(line agent.Line) (resume.Context, bool) {
	if !bytes.Contains(line.Data, []byte(`"tokens"`)) {
		return resume.Context{}, false
	}
	var r struct {
		Type      string `json:"type"`
		Timestamp string `json:"timestamp"`
		Tokens    struct {
			Total int64 `json:"total"`
		} `json:"tokens"`
	}
	if json.Unmarshal(line.Data, &r) != nil || r.Type != "gemini" || r.Tokens.Total <= 0 {
		return resume.Context{}, false
	}
	return resume.Context{Tokens: r.Tokens.Total, At: agent.Written(r.Timestamp, line.ModTime)}, true
}
