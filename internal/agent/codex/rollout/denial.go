package rollout

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/agent"
)

// Trace returns what a line says about tools. confined says that the run has a sandbox.
func Trace(line agent.Line, confined bool) agent.ToolUse {
	r, ok := parse(line.Data)
	if !ok {
		return agent.ToolUse{}
	}
	return r.trace(line, confined)
}

// trace is Trace for a parsed record.
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
		_ = json.Unmarshal([]byte(p.Arguments), &arguments) // a custom tool has plain text
		t.Calls = []agent.Call{{ID: p.CallID, Tool: p.Name, Use: agent.UseOf(arguments)}}
	}
	return t
}

// toolRecord is the record of a tool call, or of its result.
type toolRecord struct {
	Payload toolPayload `json:"payload"`
}

type toolPayload struct {
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"` // a string, or an object that contains it
}

func (p toolPayload) output() string {
	var text string
	if json.Unmarshal(p.Output, &text) == nil {
		return text
	}
	return string(p.Output)
}

// refusals are how Codex reports a tool that it did not run, because it had to ask and there was
// nobody to ask.
var refusals = []string{
	"approval policy is Never", "rejected by user approval settings", "rejected: blocked by policy",
	"exec command rejected by user", "patch rejected by user",
}

func refusedByCodex(text string) bool {
	return slices.ContainsFunc(refusals, func(words string) bool { return strings.Contains(text, words) }) &&
		!strings.Contains(text, "Process exited with code") // output of a command may contain anything
}

var failedCommand = regexp.MustCompile(`(?i)(process exited with code|exit code:|"exit_code":) ?[1-9]`)

// refusedBySandbox reports whether a command failed because it wrote where the sandbox forbids it.
// Other failures may have other causes.
func refusedBySandbox(text string) bool {
	return failedCommand.MatchString(text) && strings.Contains(text, "Read-only file system")
}
