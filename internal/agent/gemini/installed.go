package gemini

import (
	"resumed/internal/agent"
	"resumed/internal/resume"
)

var (
	_ agent.Installed  = (*Agent)(nil)
	_ agent.Identifier = (*Agent)(nil)
)

// Program returns the program that continues sessions of which nothing else is
// known.
func (a *Agent) Program() (agent.Program, error) { return a.program(resume.Session{}) }

// Identify returns the program that the process runs.
func (a *Agent) Identify(pid int) (resume.Program, bool) { return a.processes.Program(pid, isProgram) }
