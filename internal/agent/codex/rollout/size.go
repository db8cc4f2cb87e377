package rollout

import (
	"bytes"
	"encoding/json"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Size returns how large the context was at an answer. The provider promises to keep
// it for five to ten minutes.
func Size(line agent.Line) (resume.Context, bool) {
	if !bytes.Contains(line.Data, []byte(`"token_count"`)) {
		return resume.Context{}, false
	}
	var r struct {
		Timestamp string `json:"timestamp"`
		Payload   struct {
			Type string `json:"type"`
			Info struct {
				Last struct {
					Total int64 `json:"total_tokens"`
				} `json:"last_token_usage"`
			} `json:"info"`
		} `json:"payload"`
	}
	if json.Unmarshal(line.Data, &r) != nil || r.Payload.Type != "token_count" || r.Payload.Info.Last.Total <= 0 {
		return resume.Context{}, false
	}
	return resume.Context{Tokens: r.Payload.Info.Last.Total, At: agent.Written(r.Timestamp, line.ModTime), Warm: 10 * time.Minute}, true
}
