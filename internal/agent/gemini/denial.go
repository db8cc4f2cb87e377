package gemini

import (
	"encoding/json"
	"slices"
	"strings"

	"resumed/internal/agent"
)

// toolCall is a tool that was called, with what became of it.
type toolCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Args   map[string]any  `json:"args"`
	Status string          `json:"status"`
	Result json.RawMessage `json:"result"`
}

// denialWords are how Gemini CLI says that a tool was not allowed.
var denialWords = []string{
	"requires user confirmation, which is not supported in non-interactive mode", "denied by policy",
}

// denied reports whether the tool was not run for want of a permission.
func (c toolCall) denied() bool {
	return c.Status == "error" && slices.ContainsFunc(denialWords, func(words string) bool {
		return strings.Contains(string(c.Result), words)
	})
}

// trace says what a record tells of tools.
func trace(line agent.Line) agent.Trace {
	r, ok := parse(line.Data)
	if !ok || len(r.Set.Messages) > 0 {
		return agent.Trace{} // a list of all messages tells nothing new
	}
	t := agent.Trace{At: r.at(line.ModTime)}
	_, refused := r.refused()
	t.Other = refused || r.cancels() || r.RewindTo != ""
	for _, c := range r.ToolCalls {
		call := agent.Call{ID: c.ID, Tool: c.Name, Use: agent.UseOf(c.Args)}
		t.Calls = append(t.Calls, call)
		if c.denied() {
			t.Denied = &agent.Denial{Tool: call.Tool, Use: call.Use}
		}
	}
	return t
}
