package opencode

import "resumed/internal/agent"

var _ agent.Installed = (*Agent)(nil)

// Program returns the path of the program that continues sessions.
func (a *Agent) Program() (string, error) { return a.program() }
