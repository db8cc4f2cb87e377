package qwen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
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
		Parts agent.Parts `json:"parts"`
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
func read(line lines.Line, limits func(time.Time) limit.Reader) (agent.Record, bool) {
	r, ok := lines.Parse[record](line.Data)
	if !ok || r.IsSidechain {
		return agent.Record{}, false
	}
	said := agent.Record{Cwd: r.Cwd, Provider: r.Payload.Event.Auth, Session: r.SessionID, Prompt: r.Message.Parts.Text()}
	said.At = agent.Written(r.Timestamp, line.ModTime)
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
			said.Denied = &agent.Denial{ID: r.Result.CallID}
		}
	}
}

// denies reports whether a tool's result says that it was not allowed.
func (r record) denies(p agent.Part) bool {
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
	calls := func(p agent.Part) bool { return len(p.Call) > 0 }
	return r.Type == "assistant" && (strings.TrimSpace(r.Message.Parts.Text()) != "" || slices.ContainsFunc(r.Message.Parts, calls))
}

// prompts reports whether the record is a prompt. Scheduled prompts and notices of background tasks have a subtype;
// versions with a provenance set it to real_user for prompts of a person or a command line.
func (r record) prompts() bool {
	return r.Type == "user" && r.Subtype == "" && (r.Provenance == "" || r.Provenance == "real_user") && r.Message.Parts.Asks()
}

// failed returns the record of a failed request of the main conversation. Failures of subagents, such as the one that
// extracts memories, do not count.
func (r record) failed() (telemetry, bool) {
	e := r.Payload.Event
	return e, r.Type == "system" && r.Subtype == "ui_telemetry" && e.Name == apiError && e.Subagent == ""
}

var siftByType = agent.SiftByType([]string{"assistant"}, []string{"user", "system"})

// sift ignores bookkeeping and results of tools.
func sift(line []byte) agent.Weight {
	says := func(name string) bool { return bytes.Contains(line, []byte(`"`+name+`"`)) }
	weight := siftByType(line)
	if weight == agent.Matters && !says("user") && !says(apiError) && !says("rewind") {
		return agent.Nothing
	}
	return weight
}
