package codex

import (
	"resumed/internal/agent"
	"resumed/internal/resume"
)

var _ agent.Teller = (*Agent)(nil)

// Start returns the command that begins the session of a task.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	return a.Open(task, agent.Opening{
		Args: []string{execCommand, "-C", task.Cwd}, Mode: "--sandbox",
		Say: func(args []string, prompt string) []string {
			if prompt == "-" {
				prompt += " " // alone it means the standard input
			}
			return append(args, "--", prompt) // it may be the name of a command, such as review
		},
	}), nil
}

// Begun returns the id that Codex prints before anything that the model says.
func (a *Agent) Begun(printed string) string {
	if banner := bannerID.FindStringSubmatch(printed); banner != nil {
		return banner[1]
	}
	return ""
}
