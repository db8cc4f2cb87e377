package qwen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// record is one line of a chat.
type record struct {
	SessionID   string `json:"sessionId"`
	Cwd         string `json:"cwd"`
	Timestamp   string `json:"timestamp"`
	Type        string `json:"type"`
	Subtype     string `json:"subtype"`
	Provenance  string `json:"provenance"`
	IsSidechain bool   `json:"isSidechain"`
	Model       string `json:"model"`
	Message     struct {
		Parts []part `json:"parts"`
	} `json:"message"`
	Payload struct {
		Event telemetry `json:"uiEvent"`
	} `json:"systemPayload"`
	Result struct { // of a tool call
		CallID string `json:"callId"`
		Kind   string `json:"errorType"`
	} `json:"toolCallResult"`
	Usage struct {
		Total int64 `json:"totalTokenCount"`
	} `json:"usageMetadata"`
}

type part struct {
	Text     string          `json:"text"`
	Call     json.RawMessage `json:"functionCall"`
	Response json.RawMessage `json:"functionResponse"`
	Inline   json.RawMessage `json:"inlineData"`
	File     json.RawMessage `json:"fileData"`
}

// telemetry is what Qwen Code records about a request.
type telemetry struct {
	Name     string `json:"event.name"`
	Model    string `json:"model"`
	Auth     string `json:"auth_type"` // the kind of login, which tells the kind of provider
	Subagent string `json:"subagent_name"`
	Message  string `json:"error_message"`
	Error    string `json:"error"` // the name of error_message until 0.10
	Kind     string `json:"error_type"`

	// Status is a number, or in 0.10 the provider's own code if there is one.
	Status json.RawMessage `json:"status_code"`
}

func (e telemetry) text() string { return cmp.Or(e.Message, e.Error) }

const apiError = "qwen-code.api_error"

// read returns what a line of a chat means.
func read(line agent.Line, limits func(time.Time) limit.Reader) (agent.Record, bool) {
	r, ok := agent.Parse[record](line.Data)
	if !ok || r.IsSidechain {
		return agent.Record{}, false
	}
	said := agent.Record{
		At: agent.Written(r.Timestamp, line.ModTime), Cwd: r.Cwd, Provider: r.Payload.Event.Auth, Session: r.SessionID,
		Prompt: agent.JoinedTexts(r.Message.Parts, func(p part) string { return p.Text }),
	}
	if !agent.IsUUID(said.Session) {
		said.Session = strings.TrimSuffix(filepath.Base(line.Path), ".jsonl")
	}
	if !agent.IsUUID(said.Session) {
		said.Session = ""
	}
	r.tell(&said)
	failure, failed := r.failed()
	switch {
	case failed:
		said.Event, said.Model, said.Login = failure.event(limits(said.At)), failure.Model, failure.Auth
	case r.moved():
		said.Event = resume.Progressed{At: said.At}
	case r.prompts():
		said.Event = resume.Prompted{At: said.At}
	case r.Type == "system" && r.Subtype == "rewind": // a person went back to an earlier state
		said.Event = resume.Cancelled{At: said.At}
	}
	return said, true
}

// tell adds the model and the tools of the record.
func (r record) tell(said *agent.Record) {
	if r.Type == "assistant" {
		said.Model, said.Tokens = r.Model, r.Usage.Total
	}
	for _, p := range r.Message.Parts {
		var c struct {
			ID   string         `json:"id"`
			Name string         `json:"name"`
			Args map[string]any `json:"args"`
		}
		if r.Type == "assistant" && len(p.Call) > 0 && json.Unmarshal(p.Call, &c) == nil {
			said.Calls = append(said.Calls, agent.Call{ID: c.ID, Tool: c.Name, Use: agent.UseOf(c.Args)})
		}
		if r.Type == "tool_result" && r.denies(p) {
			said.Denied = agent.Refuse(r.Result.CallID)
		}
	}
}

// denies reports whether a tool's result says that it was not allowed.
func (r record) denies(p part) bool {
	return r.Result.Kind == "execution_denied" ||
		r.Result.Kind == "" && strings.Contains(string(p.Response), "permission was declined")
}

// event returns the event of a failed request. The process may retry, and no record says when it gives up: as long as
// it is alive it owns the session, and its next records tell more.
func (e telemetry) event(limits limit.Reader) resume.Event {
	v := e.verdict(limits)
	if v.Class == limit.Cancelled {
		return resume.Cancelled{At: limits.At}
	}
	return resume.Limited{At: limits.At, Verdict: v, Text: agent.Clip(e.text())}
}

func (e telemetry) verdict(limits limit.Reader) limit.Verdict {
	refusal := limit.Refusal{Code: e.Kind, Text: "[API Error: " + e.text() + "]"}
	var code string
	if json.Unmarshal(e.Status, &code) == nil && code != "" {
		refusal.Code = code
	} else {
		_ = json.Unmarshal(e.Status, &refusal.Status) // any other type counts as absent
	}
	return agent.Failed(limits.Refusal(refusal))
}

// Verdict returns the meaning of a failed request's text.
func Verdict(limits limit.Reader, words string) limit.Verdict {
	return telemetry{Message: words}.verdict(limits)
}

// moved reports whether the record is an answer of the model.
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

// prompts reports whether the record is a prompt. Scheduled prompts and notices of background tasks have a subtype;
// versions with a provenance set it to real_user for prompts of a person or a command line.
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

// failed returns the record of a failed request of the main conversation. Failures of subagents, such as the one that
// extracts memories, do not count.
func (r record) failed() (telemetry, bool) {
	e := r.Payload.Event
	return e, r.Type == "system" && r.Subtype == "ui_telemetry" && e.Name == apiError && e.Subagent == ""
}

// Quotes within a JSON string are escaped, so these are found only as parts of a record.
var (
	quotedAssistant = []byte(`"assistant"`)
	quotedUser      = []byte(`"user"`)
	quotedError     = []byte(`"` + apiError + `"`)
	quotedRewind    = []byte(`"rewind"`)
)

// sift ignores bookkeeping and results of tools.
func sift(line []byte) agent.Weight {
	kind, known := agent.TextAtEnds(line, "type")
	is := func(name string, quoted []byte) bool {
		return string(kind) == name || !known && bytes.Contains(line, quoted)
	}
	noted := (!known || string(kind) == "system") && (bytes.Contains(line, quotedError) || bytes.Contains(line, quotedRewind))
	switch {
	case noted, is("user", quotedUser):
		return agent.Matters
	case is("assistant", quotedAssistant):
		return agent.Moves
	default:
		return agent.Nothing
	}
}
