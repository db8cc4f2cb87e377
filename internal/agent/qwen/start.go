package qwen

import (
	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

var _ agent.Teller = (*Agent)(nil)

// Start returns the command that begins the session of a task. It prints for programs:
// that tells its id.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	return a.Open(task, agent.Opening{
		Args: []string{"--output-format", "stream-json"}, Mode: "--approval-mode",
		Say: func(args []string, prompt string) []string { return leash.WithValue(args, "-p", "--prompt", prompt) },
	}), nil
}

// Begun returns the id that a run prints first.
func (a *Agent) Begun(printed string) string {
	return agent.ToldID(agent.Recording{Text: printed}, "session_id")
}
