// Package kimi knows Kimi Code: where the records of its sessions are, what one of them
// means, which process may hold a session, and how a session is continued.
package kimi

import (
	"context"
	"path/filepath"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Name is Kimi Code's name in configuration, status and metrics.
const Name = "kimi"

// homeVariable names the home of Kimi Code.
const homeVariable = "KIMI_CODE_HOME"

// Builtin is Kimi Code in the list of agents.
var Builtin = agent.Builtin{
	Name:      Name,
	Title:     "Kimi Code",
	Headless:  "kimi -p",
	Variables: []string{homeVariable},
	Hands:     agent.Hands{SignIn: "run kimi login", Pay: "buy credits or raise the limit on the page of its provider", Shorten: "/compact"},
	New:       func(o agent.Options) (agent.Agent, error) { return New(o) },
}

// Options says which Kimi Code is meant: without Roots its home is $KIMI_CODE_HOME,
// else ~/.kimi-code.
type Options = agent.Options

// Agent is Kimi Code with its homes.
type Agent struct {
	agent.Transcripts
	places agent.Cache[string] // where the session of a file works
}

var _ agent.Reader = (*Agent)(nil)

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	homes, err := agent.NewHomes(Name, agent.UsualHome(".kimi-code", homeVariable), o.Roots)
	a := &Agent{Transcripts: agent.Transcripts{
		Base: agent.NewBase(agent.About{
			Name: Name, Program: "kimi", Is: isProgram, ByHand: "--session", Flags: flags, Variables: variables, Login: login, Keys: keys,
		}, o),
		Homes: homes,
		Dir:   "sessions",
		Files: agent.Source{Depth: 4, Match: isWire, Sift: sift},

		Elsewhere: func(home string) string { return homeVariable + "=" + home },
	}}
	a.Read, a.Size = a.read, size
	return a, err
}

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

// Denied says that nothing was refused: a run without a terminal is in a mode that never
// asks, so nothing waits for an answer that nobody gives.
func (a *Agent) Denied(context.Context, resume.Session, agent.Ran) (agent.Denial, bool, error) {
	return agent.Denial{}, false, nil
}
