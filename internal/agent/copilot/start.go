package copilot

import (
	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

var _ agent.Starter = (*Agent)(nil)

// Start returns the command that begins the session of a task, under the task's id.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	return a.Open(task, agent.Opening{
		Args: []string{"--session-id", task.Key.ID}, Mode: "--mode",
		Say: func(args []string, prompt string) []string { return leash.WithValue(args, "-p", "--prompt", prompt) },
	}), nil
}
