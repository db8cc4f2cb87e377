package custom

import (
	"resumed/internal/agent"
	"resumed/internal/resume"
)

var _ agent.Installed = (*Agent)(nil)

// Program returns the program that continues sessions.
func (a *Agent) Program() (agent.Program, error) {
	return agent.Search{Command: a.resume[0]}.Find(resume.Program{})
}
