package claude

import (
	"strings"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

var _ agent.Starter = (*Agent)(nil)

// Start returns the command that begins the session of a task, under the task's id.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	plan := a.Open(task, agent.Opening{
		Args: []string{"-p", "--session-id", task.Key.ID}, Mode: "--permission-mode",
		Say: func(args []string, prompt string) []string {
			if len(strings.Fields(prompt)) == 1 {
				prompt += " " // a single word may be the name of a command, such as update
			}
			return leash.WithPrompt(args, prompt)
		},
	})
	if plan.Run != nil {
		plan.Run.Unset = a.unset("")
	}
	return plan, nil
}
