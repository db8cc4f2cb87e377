// Package copilot knows GitHub Copilot CLI: where the events of its sessions are, what
// one of them means, which process holds a session, and how a session is continued.
package copilot

import (
	"path/filepath"

	"resumed/internal/agent"
)

// Name is GitHub Copilot CLI's name in configuration, status and metrics.
const Name = "copilot"

// homeVariable names the home of GitHub Copilot CLI.
const homeVariable = "COPILOT_HOME"

// Builtin is GitHub Copilot CLI in the list of agents.
var Builtin = agent.Builtin{
	Name:      Name,
	Title:     "GitHub Copilot CLI",
	Headless:  "copilot -p",
	Variables: []string{homeVariable},
	Hands:     agent.Hands{SignIn: "run copilot login", Pay: "raise the budget at github.com/settings/billing", Shorten: "/compact"},
	New:       func(o agent.Options) (agent.Agent, error) { return New(o) },
}

// Options says which GitHub Copilot CLI is meant: without Roots its home is
// $COPILOT_HOME, else ~/.copilot.
type Options = agent.Options

// Agent is GitHub Copilot CLI with its homes.
type Agent struct {
	agent.Transcripts
	heads agent.Cache[head] // of the files
}

var _ agent.Reader = (*Agent)(nil)

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	homes, err := agent.NewHomes(Name, agent.UsualHome(".copilot", homeVariable), o.Roots)
	a := &Agent{Transcripts: agent.Transcripts{
		Base: agent.NewBase(agent.About{
			Name: Name, Program: "copilot", Is: isProgram, ByHand: "--resume", Flags: flags, Variables: variables, Keys: keys,
		}, o),
		Homes: homes,
		Dir:   "session-state",
		Files: agent.Source{Depth: 1, Match: isEvents, Sift: sift},

		Elsewhere: func(home string) string { return homeVariable + "=" + home },
	}}
	a.Read, a.Trace, a.Size = a.read, a.trace, size
	return a, err
}

const eventsFile = "events.jsonl"

// isEvents accepts SESSION/events.jsonl.
func isEvents(rel string) bool {
	dir, name := filepath.Split(rel)
	return name == eventsFile && agent.IsUUID(filepath.Clean(dir))
}
