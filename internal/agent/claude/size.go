package claude

import (
	"bytes"
	"encoding/json"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// usage is what an answer says that it has read and written.
type usage struct {
	Input   int64 `json:"input_tokens"`
	Created int64 `json:"cache_creation_input_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
	Kept    struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

// size returns how large the context was at an answer, and how long the provider
// keeps it: five minutes, or an hour where that was asked for.
func size(line agent.Line) (resume.Context, bool) {
	if !bytes.Contains(line.Data, []byte(`"input_tokens"`)) {
		return resume.Context{}, false
	}
	var r struct {
		Type      string `json:"type"`
		Timestamp string `json:"timestamp"`
		Sidechain bool   `json:"isSidechain"`
		IsError   bool   `json:"isApiErrorMessage"`
		Message   struct {
			Usage usage `json:"usage"`
		} `json:"message"`
	}
	u := &r.Message.Usage
	if json.Unmarshal(line.Data, &r) != nil || r.Type != "assistant" || r.Sidechain || r.IsError || u.Input+u.Created+u.Read <= 0 {
		return resume.Context{}, false
	}
	warm := 5 * time.Minute
	if u.Kept.Hour > 0 {
		warm = time.Hour
	}
	return resume.Context{Tokens: u.Input + u.Created + u.Read + u.Output, At: agent.Written(r.Timestamp, line.ModTime), Warm: warm}, true
}
