package qwen

import (
	"bytes"
	"encoding/json"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// size returns how large the context was at an answer. Who was asked, and how long
// they keep it, is not known.
func size(line agent.Line) (resume.Context, bool) {
	if !bytes.Contains(line.Data, []byte(`"usageMetadata"`)) {
		return resume.Context{}, false
	}
	var r struct {
		Type      string `json:"type"`
		Timestamp string `json:"timestamp"`
		Sidechain bool   `json:"isSidechain"`
		Usage     struct {
			Total int64 `json:"totalTokenCount"`
		} `json:"usageMetadata"`
	}
	if json.Unmarshal(line.Data, &r) != nil || r.Type != "assistant" || r.Sidechain || r.Usage.Total <= 0 {
		return resume.Context{}, false
	}
	return resume.Context{Tokens: r.Usage.Total, At: agent.Written(r.Timestamp, line.ModTime)}, true
}
