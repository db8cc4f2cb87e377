package gemini

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

var _ agent.Denier = (*Agent)(nil)

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

// Denied returns what a run was refused at last.
func (a *Agent) Denied(ctx context.Context, s resume.Session, run agent.Ran) (agent.Denial, bool, error) {
	if err := ctx.Err(); err != nil {
		return agent.Denial{}, false, err
	}
	d, denied, _, err := agent.LastDenial(s.Transcript, run.Since, a.trace)
	return d, denied, err
}

// trace says what a record tells of tools.
func (a *Agent) trace(line agent.Line) agent.Trace {
	r, ok := parse(line.Data)
	if line.Cut || !ok || len(r.Set.Messages) > 0 {
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
