package copilot

import (
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// record is one line of a session's events.
type record struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	AgentID   string `json:"agentId"` // of a subagent that the model started
	Data      data   `json:"data"`
}

// The types that matter.
const (
	started   = "session.start"
	prompt    = "user.message"
	answer    = "assistant.message"
	failure   = "session.error"
	aborted   = "abort"
	rewound   = "session.snapshot_rewind"
	moded     = "session.mode_changed"
	permitted = "session.permissions_changed"
	tooled    = "tool.execution_complete"
	used      = "session.usage_record"
)

// data contains the fields of all events.
type data struct {
	SessionID string `json:"sessionId"`
	Context   struct {
		Cwd string `json:"cwd"`
	} `json:"context"`

	// of prompts and answers
	Content   string    `json:"content"`
	Source    string    `json:"source"` // of a prompt that no person typed
	Autopilot bool      `json:"isAutopilotContinuation"`
	AgentMode string    `json:"agentMode"`
	Requests  []request `json:"toolRequests"`
	Parent    string    `json:"parentToolCallId"` // of output of a subagent

	// of failures
	Kind    string `json:"errorType"`
	Code    string `json:"errorCode"`
	Message string `json:"message"`
	Status  int    `json:"statusCode"`

	// of changes, and of results of tools
	NewMode    string `json:"newMode"`
	Permission string `json:"mode"`
	CallID     string `json:"toolCallId"`
	Error      struct {
		Code string `json:"code"`
	} `json:"error"`
	Usage struct {
		Input       int64  `json:"inputTokens"`
		Output      int64  `json:"outputTokens"`
		Interaction string `json:"interactionType"`
	} `json:"usage"`
}

// request is a tool call of the model.
type request struct {
	ID        string         `json:"toolCallId"`
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// sift ignores bookkeeping, results of tools, and events that are only for display.
var sift = agent.SiftByType([]string{answer}, []string{failure, prompt, aborted, rewound})

// read returns what an event means. A failure is written after GitHub Copilot CLI gave up its own
// retries.
func read(line lines.Line, limits func(time.Time) limit.Reader) (agent.Record, bool) {
	r, ok := lines.Parse[record](line.Data)
	if helper := r.AgentID != "" || r.Data.Parent != ""; !ok || helper { // the session waits for its subagent
		return agent.Record{}, false
	}
	d := r.Data
	said := agent.Record{Prompt: d.Content}
	said.At = agent.Written(r.Timestamp, line.ModTime)
	switch r.Type {
	case failure:
		said.Event = resume.Limited{At: said.At, Verdict: d.verdict(limits(said.At)), Text: agent.Clip(d.Message)}
	case answer:
		if strings.TrimSpace(d.Content) != "" || len(d.Requests) > 0 {
			said.Event = resume.Progressed{At: said.At}
		}
		for _, c := range d.Requests {
			said.Calls = append(said.Calls, agent.Call{ID: c.ID, Tool: c.Name, Use: agent.UseOf(c.Arguments)})
		}
	case prompt:
		said.Event, said.Mode = resume.Prompted{At: said.At, By: d.by()}, d.AgentMode
	case aborted, rewound:
		said.Event = resume.Cancelled{At: said.At}
	case moded:
		said.Mode = d.NewMode
	case permitted:
		said.Permission = d.Permission
	case tooled:
		if d.Error.Code == "denied" {
			said.Denied = &agent.Denial{ID: d.CallID}
		}
	case used:
		if d.Usage.Interaction == "conversation-agent" {
			said.Tokens = d.Usage.Input + d.Usage.Output
		}
	}
	return said, true
}

// by returns the source of a prompt; empty: a person, or a command line.
func (d data) by() string {
	if d.Autopilot || d.Source != "" && d.Source != "user" {
		return "GitHub Copilot CLI itself"
	}
	return ""
}

// waited is the text about its own retries, whose times are not resets.
var waited = regexp.MustCompile(`; retried \d+ times \(total retry wait time: [^)]*\)(?: Last error:)?`)

// verdict returns the meaning of a failure: by its status, code and text, and by GitHub Copilot CLI's
// own kind.
func (d data) verdict(limits limit.Reader) limit.Verdict {
	v := limits.Refusal(limit.Refusal{Status: d.Status, Code: d.Code, Text: waited.ReplaceAllString(d.Message, "")})
	switch {
	case d.Kind == "rate_limit" && strings.HasPrefix(d.Code, "user_"): // limits per week, for all models or for one
		v.Class, v.WaitHelps = limit.UsageLimit, true
	case d.Kind == "rate_limit" && !v.Class.Transient():
		v.Class, v.WaitHelps = limit.RateLimit, true
	case d.Kind == "quota" && !v.Reset.Stated(): // it must be bought, or ends with the month
		v.Class, v.WaitHelps = limit.Billing, false
	case d.Kind == "authentication" || d.Kind == "authorization" || d.Kind == "policy":
		v.Class, v.WaitHelps = limit.Auth, false
	case d.Kind == "context_limit":
		v.Class, v.WaitHelps = limit.ContextOverflow, false
	}
	return agent.Failed(v)
}

// place returns the session of a file and its directory, from its first event. If the beginning of the
// file is missing, the session is that of the directory's name.
func place(line lines.Line) (session, cwd string) {
	if named := filepath.Base(filepath.Dir(line.Path)); agent.IsUUID(named) {
		session = named
	}
	first, ok := lines.Parse[record](line.First())
	if !ok || first.Type != started || !agent.IsUUID(first.Data.SessionID) {
		return session, ""
	}
	return first.Data.SessionID, first.Data.Context.Cwd
}

// EventOf returns the event of a record that a run printed, or nil if it has no meaning for its session.
func EventOf(printed []byte, limits limit.Reader) resume.Event {
	r, _ := read(lines.Line{Data: printed, ModTime: limits.At}, func(at time.Time) limit.Reader {
		limits.At = at
		return limits
	})
	return r.Event
}
