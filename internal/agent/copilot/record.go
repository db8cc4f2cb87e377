package copilot

import (
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// record is one line of a session's events.
type record struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	AgentID   string `json:"agentId"` // of a helper that the model started
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

// data is what events tell, each of them some of it.
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
	Parent    string    `json:"parentToolCallId"` // of what a helper says

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

// request is a tool that the model calls.
type request struct {
	ID        string         `json:"toolCallId"`
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// sift passes over bookkeeping, over results of tools and over what is only shown.
var sift = agent.SiftByType([]string{answer}, []string{failure, prompt, aborted, rewound})

// read says what an event means. A failure is written when GitHub Copilot CLI has given up
// trying by itself.
func read(line agent.Line, limits func(time.Time) limit.Reader) (agent.Record, bool) {
	r, ok := agent.Parse[record](line.Data)
	if helper := r.AgentID != "" || r.Data.Parent != ""; !ok || helper { // its session waits for it
		return agent.Record{}, false
	}
	d := r.Data
	said := agent.Record{At: agent.Written(r.Timestamp, line.ModTime), Prompt: d.Content}
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
			said.Denied = agent.Refuse(d.CallID)
		}
	case used:
		if d.Usage.Interaction == "conversation-agent" {
			said.Tokens = d.Usage.Input + d.Usage.Output
		}
	}
	return said, true
}

// by is what gave a prompt; empty: a person, or a command line.
func (d data) by() string {
	if d.Autopilot || d.Source != "" && d.Source != "user" {
		return "GitHub Copilot CLI itself"
	}
	return ""
}

// waited is what it says of its own retries: no time until a reset.
var waited = regexp.MustCompile(`; retried \d+ times \(total retry wait time: [^)]*\)(?: Last error:)?`)

// verdict says what a failure means: by its status, its code and its words, and by what
// kind of failure GitHub Copilot CLI takes it for.
func (d data) verdict(limits limit.Reader) limit.Verdict {
	v := limits.Refusal(limit.Refusal{Status: d.Status, Code: d.Code, Text: waited.ReplaceAllString(d.Message, "")})
	switch {
	case d.Kind == "rate_limit" && strings.HasPrefix(d.Code, "user_"): // of a week, of all models, of one
		v.Class, v.WaitHelps = limit.UsageLimit, true
	case d.Kind == "rate_limit" && !v.Class.Transient():
		v.Class, v.WaitHelps = limit.RateLimit, true
	case d.Kind == "quota" && !v.Reset.Stated(): // it is bought, or waited for until the month ends
		v.Class, v.WaitHelps = limit.Billing, false
	case d.Kind == "authentication" || d.Kind == "authorization" || d.Kind == "policy":
		v.Class, v.WaitHelps = limit.Auth, false
	case d.Kind == "context_limit":
		v.Class, v.WaitHelps = limit.ContextOverflow, false
	}
	return agent.Failed(v)
}

// place returns the session of a file and where that works, by its first event. A file whose
// beginning is gone is of the session that its directory is named for.
func place(line agent.Line) (session, cwd string) {
	if named := filepath.Base(filepath.Dir(line.Path)); agent.IsUUID(named) {
		session = named
	}
	first, ok := agent.Parse[record](agent.FirstLine(line))
	if !ok || first.Type != started || !agent.IsUUID(first.Data.SessionID) {
		return session, ""
	}
	return first.Data.SessionID, first.Data.Context.Cwd
}

// EventOf says what an event means that a run printed, or returns nil if it means
// nothing for its session.
func EventOf(printed []byte, limits limit.Reader, now time.Time) resume.Event {
	r, _ := read(agent.Line{Data: printed, ModTime: now}, func(at time.Time) limit.Reader {
		limits.At = at
		return limits
	})
	return r.Event
}
