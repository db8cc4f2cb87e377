package copilot

import (
	"strings"
	"time"

	"resumed/internal/agent"
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
	NewMode    string     `json:"newMode"`
	Permission string     `json:"mode"`
	CallID     string     `json:"toolCallId"`
	Success    *bool      `json:"success"`
	Error      toolError  `json:"error"`
	Usage      usageOfOne `json:"usage"`
}

// request is a tool that the model calls.
type request struct {
	ID        string         `json:"toolCallId"`
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

type toolError struct {
	Code string `json:"code"`
}

type usageOfOne struct {
	Input       int64  `json:"inputTokens"`
	Output      int64  `json:"outputTokens"`
	Interaction string `json:"interactionType"`
}

func parse(line []byte) (record, bool) { return agent.Parse[record](line) }

// aside reports whether the record is of a helper, which its session waits for.
func (r record) aside() bool { return r.AgentID != "" || r.Data.Parent != "" }

// moved reports whether the model itself spoke.
func (r record) moved() bool {
	return r.Type == answer && (strings.TrimSpace(r.Data.Content) != "" || len(r.Data.Requests) > 0)
}

// by is who gave a prompt; empty: a person, or a command line.
func (r record) by() string {
	if r.Data.Autopilot || r.Data.Source != "" && r.Data.Source != "user" {
		return "GitHub Copilot CLI itself"
	}
	return ""
}

// at returns the record's own time.
func (r record) at(file time.Time) time.Time { return agent.Written(r.Timestamp, file) }
