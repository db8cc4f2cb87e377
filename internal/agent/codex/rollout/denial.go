package rollout

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/agent"
)

// Trace says what a line tells of tools, in a sandbox where it is confined.
func Trace(line agent.Line, confined bool) agent.ToolUse {
	r, ok := parse(line.Data)
	if !ok {
		return agent.ToolUse{}
	}
	return r.trace(line, confined)
}

// trace says what a record tells of tools, in a sandbox where it is confined.
func (r record) trace(line agent.Line, confined bool) agent.ToolUse {
	t := agent.ToolUse{At: r.at(line.ModTime)}
	if _, failed := r.failed(); failed || r.interrupts() {
		t.Other = true
		return t
	}
	if r.Type != "response_item" {
		return t
	}
	var tool toolRecord
	if !agent.Decode(line.Data, &tool) {
		return t
	}
	p := tool.Payload
	switch {
	case strings.HasSuffix(r.Payload.Type, "_call_output"):
		if text := p.output(); refusedByCodex(text) || confined && refusedBySandbox(text) {
			t.Denied = agent.Refuse(p.CallID)
		}
	case strings.HasSuffix(r.Payload.Type, "_call"):
		var arguments map[string]any
		_ = json.Unmarshal([]byte(p.Arguments), &arguments) // a tool of its own has plain text
		t.Calls = []agent.Call{{ID: p.CallID, Tool: p.Name, Use: agent.UseOf(arguments)}}
	}
	return t
}

// toolRecord is a record of a tool that is called, or of what it returned.
type toolRecord struct {
	Payload toolPayload `json:"payload"`
}

type toolPayload struct {
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"` // a text, or an object of it
}

func (p toolPayload) output() string {
	var text string
	if json.Unmarshal(p.Output, &text) == nil {
		return text
	}
	return string(p.Output)
}

// refusals are how Codex says that it did not even try, because it was to ask
// and no person could be asked.
var refusals = []string{
	"approval policy is Never", "rejected by user approval settings", "rejected: blocked by policy",
	"exec command rejected by user", "patch rejected by user",
}

func refusedByCodex(text string) bool {
	return slices.ContainsFunc(refusals, func(words string) bool { return strings.Contains(text, words) }) &&
		!strings.Contains(text, "Process exited with code") // what a command printed may say anything
}

var failedCommand = regexp.MustCompile(`(?i)(process exited with code|exit code:|"exit_code":) ?[1-9]`)

// refusedBySandbox reports whether a command failed because it wrote where the
// sandbox does not let it. Other failures may have other causes.
func refusedBySandbox(text string) bool {
	return failedCommand.MatchString(text) && strings.Contains(text, "Read-only file system")
}
