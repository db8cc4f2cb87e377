// Package kimi knows Kimi Code: where the records of its sessions are, what one of them
// means, which process may hold a session, and how a session is continued.
package kimi

import (
	"path/filepath"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Name is Kimi Code's name in configuration, status and metrics.
const Name = "kimi"

// homeVariable names the home of Kimi Code.
const homeVariable = "KIMI_CODE_HOME"

// described is Kimi Code.
var described = agent.Description{
	About: agent.About{
		Name: Name, Program: "kimi", Is: isProgram, ByHand: "--session", Flags: flags, Variables: variables, Login: login, Keys: keys,
	},
	Title:    "Kimi Code",
	Remedies: agent.Remedies{SignIn: "run kimi login", Pay: "buy credits or raise the limit on the page of its provider", Shorten: "/compact"},

	Home: ".kimi-code", HomeVariables: []string{homeVariable},
	Dir:   "sessions",
	Files: agent.Source{Depth: 4, Match: isWire, Sift: sift},
	Glob:  "sessions/*/*/" + filepath.ToSlash(wireFile),
	IsID:  isID,

	Read:   read,
	Place:  place,
	Counts: `"` + measured + `"`,
	Choose: choose,
	Enough: func(had agent.RunSettings) bool { return had.Mode != "" },

	Resume: "--session",
	Line: agent.PromptFlags{
		Names:  [][]string{{"-S", "--session"}, {"-r", "--resume"}},
		Once:   []string{"-S", "--session", "-r", "--resume", "-c", "-C", "--continue", "-p", "--prompt", "--agent", "--agent-file"},
		Output: "--output-format",
		Field:  "session_id",
	},
}

// Builtin is Kimi Code in the list of agents.
var Builtin = described.Builtin(func(o agent.Options) (agent.Agent, error) { return New(o) })

// Options says which Kimi Code is meant: without Roots its home is $KIMI_CODE_HOME,
// else ~/.kimi-code.
type Options = agent.Options

// Agent is Kimi Code with its homes.
type Agent struct{ agent.Described }

var (
	_ agent.Reader      = (*Agent)(nil)
	_ agent.CommandLine = (*Agent)(nil)
)

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	a := &Agent{}
	return a, a.Describe(described, o)
}

// isProgram knows it as it is called, as it calls itself, or as npm packs it.
var isProgram = agent.ProgramOf("kimi kimi-code", "main.mjs", "@moonshot-ai/kimi-code")

// wireFile is what the main agent of a session writes, below the session's directory.
// Helpers write files of their own beside it.
var wireFile = filepath.Join("agents", "main", "wire.jsonl")

// isWire accepts WORKSPACE/SESSION/agents/main/wire.jsonl.
func isWire(rel string) bool {
	dir, found := strings.CutSuffix(rel, string(filepath.Separator)+wireFile)
	workspace, session := filepath.Split(dir)
	return found && isID(session) && strings.Count(workspace, string(filepath.Separator)) == 1
}

// sessionDir returns the directory of the session that a file belongs to.
func sessionDir(wire string) string { return filepath.Dir(filepath.Dir(filepath.Dir(wire))) }

// isID reports whether a text is the id of a session.
func isID(text string) bool {
	id, found := strings.CutPrefix(text, "session_")
	return found && agent.IsUUID(id)
}

// neverAsks is the mode in which everything runs without a question. Every run without
// a terminal is in this mode, whatever the session's own one is.
const neverAsks = "auto"

// choose leaves a session that asks to a person: a run without a terminal never asks. Every
// session begins in the mode that asks before everything. It keeps its model by itself.
func choose(d *agent.Described, s resume.Session, had agent.RunSettings) agent.Choice {
	c := agent.Choice{Newer: []string{"-m", "--model"}}
	o := s.StartedWith()
	switch seen := o != nil && o.ArgsSeen; {
	case had.Mode != neverAsks:
		c.Park = "it asks before it acts, and kimi -p never asks: go on in a terminal, where you can answer"
	case d.Unseen == agent.Park && !seen:
		c.Park = "it never asks, and nobody saw what it was started with (resume.unseen)"
	}
	return c
}
