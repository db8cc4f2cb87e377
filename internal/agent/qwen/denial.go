package qwen

import (
	"encoding/json"
	"strings"

	"resumed/internal/agent"
)

// trace says what a record tells of tools.
func (a *Agent) trace(line agent.Line) agent.Trace {
	r, ok := parse(line.Data)
	if !ok || r.IsSidechain {
		return agent.Trace{}
	}
	t := agent.Trace{At: r.at(line.ModTime)}
	_, failed := r.failed()
	t.Other = failed || r.rewinds()
	for _, p := range r.Message.Parts {
		var c struct {
			ID   string         `json:"id"`
			Name string         `json:"name"`
			Args map[string]any `json:"args"`
		}
		if r.Type == "assistant" && len(p.Call) > 0 && json.Unmarshal(p.Call, &c) == nil {
			t.Calls = append(t.Calls, agent.Call{ID: c.ID, Tool: c.Name, Use: agent.UseOf(c.Args)})
		}
		if r.Type == "tool_result" && r.denies(p) {
			t.Denied = agent.Refuse(r.Result.CallID)
		}
	}
	return t
}

// denies reports whether a tool's result says that it was not allowed.
func (r record) denies(p part) bool {
	return r.Result.Kind == "execution_denied" ||
		r.Result.Kind == "" && strings.Contains(string(p.Response), "permission was declined")
}
