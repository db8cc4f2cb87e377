package qwen

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
)

// record is one line of a chat.
type record struct {
	SessionID   string  `json:"sessionId"`
	UUID        string  `json:"uuid"`
	Version     string  `json:"version"`
	Cwd         string  `json:"cwd"`
	Timestamp   string  `json:"timestamp"`
	Type        string  `json:"type"`
	Subtype     string  `json:"subtype"`
	Provenance  string  `json:"provenance"`
	IsSidechain bool    `json:"isSidechain"`
	Model       string  `json:"model"`
	Message     message `json:"message"`
	Payload     payload `json:"systemPayload"`
	Result      result  `json:"toolCallResult"`
}

// result is what became of a tool that was called.
type result struct {
	CallID string `json:"callId"`
	Kind   string `json:"errorType"`
}

type message struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Text     string          `json:"text"`
	Call     json.RawMessage `json:"functionCall"`
	Response json.RawMessage `json:"functionResponse"`
	Inline   json.RawMessage `json:"inlineData"`
	File     json.RawMessage `json:"fileData"`
}

type payload struct {
	Event telemetry `json:"uiEvent"`
}

// telemetry is what Qwen Code notes of a request.
type telemetry struct {
	Name     string `json:"event.name"`
	Model    string `json:"model"`
	Auth     string `json:"auth_type"` // how it logs in, which tells the kind of provider
	Subagent string `json:"subagent_name"`
	Message  string `json:"error_message"`
	Error    string `json:"error"` // what error_message was called until 0.10
	Kind     string `json:"error_type"`

	// Status is a number, or in 0.10 the provider's own code where it gave one.
	Status json.RawMessage `json:"status_code"`
}

// refusal is what the failure of a request says of itself.
func (e telemetry) refusal() limit.Refusal {
	f := limit.Refusal{Code: e.Kind, Text: "[API Error: " + e.text() + "]"}
	var code string
	if json.Unmarshal(e.Status, &code) == nil && code != "" {
		f.Code = code
	} else {
		_ = json.Unmarshal(e.Status, &f.Status) // of another type it is as good as absent
	}
	return f
}

func (e telemetry) text() string { return cmp.Or(e.Message, e.Error) }

const apiError = "qwen-code.api_error"

func parse(line []byte) (record, bool) { return agent.Parse[record](line) }

// moved reports whether the model itself spoke.
func (r record) moved() bool {
	if r.Type != "assistant" {
		return false
	}
	for _, p := range r.Message.Parts {
		if strings.TrimSpace(p.Text) != "" || len(p.Call) > 0 {
			return true
		}
	}
	return false
}

// prompts reports whether the agent was told to work. Prompts of its own
// schedule and notices of what runs in the background have a subtype; versions
// that say where a prompt is from say it of a person's, and of one that was
// given on the command line.
func (r record) prompts() bool {
	if r.Type != "user" || r.Subtype != "" || r.Provenance != "" && r.Provenance != "real_user" {
		return false
	}
	said := false
	for _, p := range r.Message.Parts {
		if len(p.Response) > 0 {
			return false
		}
		said = said || strings.TrimSpace(p.Text) != "" || len(p.Inline) > 0 || len(p.File) > 0
	}
	return said
}

// rewinds reports whether a person went back to before what happened.
func (r record) rewinds() bool { return r.Type == "system" && r.Subtype == "rewind" }

// failed returns what is noted of a request of the main conversation that
// failed. Helpers, such as the one that extracts memories, fail by themselves.
func (r record) failed() (telemetry, bool) {
	e := r.Payload.Event
	return e, r.Type == "system" && r.Subtype == "ui_telemetry" && e.Name == apiError && e.Subagent == ""
}

func (r record) text() string {
	var texts []string
	for _, p := range r.Message.Parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// at returns the record's own time.
func (r record) at(file time.Time) time.Time { return agent.Written(r.Timestamp, file) }
