package transcript

import (
	"bytes"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// tokens is what an answer says that it has read and written.
type tokens struct {
	Input   int64 `json:"input_tokens"`
	Created int64 `json:"cache_creation_input_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
	Kept    struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

// answer is what of a record tells how large the context was.
type answer struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Sidechain bool   `json:"isSidechain"`
	IsError   bool   `json:"isApiErrorMessage"`
	Message   struct {
		Usage tokens `json:"usage"`
	} `json:"message"`
}

// Size returns how large the context was at an answer, and how long the provider
// keeps it: five minutes, or an hour where that was asked for.
func Size(line agent.Line) (resume.Context, bool) {
	if !bytes.Contains(line.Data, []byte(`"input_tokens"`)) || bytes.Contains(line.Data, []byte(`"isApiErrorMessage":true`)) {
		return resume.Context{}, false
	}
	r, ok := agent.Parse[answer](line.Data)
	u := &r.Message.Usage
	if !ok || r.Type != "assistant" || r.Sidechain || r.IsError || u.Input+u.Created+u.Read <= 0 {
		return resume.Context{}, false
	}
	warm := 5 * time.Minute
	if u.Kept.Hour > 0 {
		warm = time.Hour
	}
	return resume.Context{Tokens: u.Input + u.Created + u.Read + u.Output, At: agent.Written(r.Timestamp, line.ModTime), Warm: warm}, true
}
