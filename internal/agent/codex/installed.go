package codex

import (
	"path/filepath"
	"slices"

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

// Identify returns the program that the process runs. A server was installed by
// Codex or by an editor for its own use: people run another one.
func (a *Agent) Identify(pid int) (resume.Program, bool) {
	if slices.Contains(a.proc.argv(pid), serverCommand) {
		return resume.Program{}, false
	}
	return agent.Processes(a.proc).Program(pid, isProgram)
}

func isProgram(path string) bool { return filepath.Base(path) == "codex" }
