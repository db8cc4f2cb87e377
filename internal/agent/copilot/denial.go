package copilot

import "resumed/internal/agent"

// trace says what an event tells of tools.
func (a *Agent) trace(line agent.Line) agent.Trace {
	r, ok := parse(line.Data)
	if !ok || r.aside() {
		return agent.Trace{}
	}
	t := agent.Trace{At: r.at(line.ModTime), Other: r.Type == failure || r.Type == aborted || r.Type == rewound}
	if r.Type == answer {
		for _, c := range r.Data.Requests {
			t.Calls = append(t.Calls, agent.Call{ID: c.ID, Tool: c.Name, Use: agent.UseOf(c.Arguments)})
		}
	}
	if r.Type == tooled && r.Data.Error.Code == "denied" {
		t.Denied = agent.Refuse(r.Data.CallID)
	}
	return t
}
