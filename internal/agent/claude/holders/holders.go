// Package holders finds the live process that holds a session of Claude Code: by what
// processes register in its homes, else by where they live.
package holders

import "resumed/internal/agent"

// Holders looks for the processes that hold the sessions of an agent's homes.
type Holders struct{ of *agent.Transcripts }

// New returns those of that agent, whose homes and processes may be set later.
func New(of *agent.Transcripts) Holders { return Holders{of} }
