// Package qwen knows Qwen Code: where its chats are, what a line of them means,
// which process holds a session, and how a session is continued.
package qwen

import (
	"path/filepath"
	"strings"

	"resumed/internal/agent"
)

// Name is Qwen Code's name in configuration, status and metrics.
const Name = "qwen-code"

// homeVariable names the home of Qwen Code.
const homeVariable = "QWEN_HOME"

// Builtin is Qwen Code in the list of agents.
var Builtin = agent.Builtin{
	Name:      Name,
	Title:     "Qwen Code",
	Headless:  "qwen -p",
	Variables: []string{"QWEN_RUNTIME_DIR", homeVariable},
	Hands:     agent.Hands{SignIn: "run qwen and type /auth", Pay: "buy credits or raise the limit on the page of its provider", Shorten: "/compress"},
	New:       func(o agent.Options) (agent.Agent, error) { return New(o) },
}

// Options says which Qwen Code is meant: without Roots its home is
// $QWEN_RUNTIME_DIR, $QWEN_HOME, else ~/.qwen.
type Options = agent.Options

// Agent is Qwen Code with its homes.
type Agent struct{ agent.Transcripts }

var _ agent.Reader = (*Agent)(nil)

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	homes, err := agent.NewHomes(Name, agent.UsualHome(".qwen", "QWEN_RUNTIME_DIR", homeVariable), o.Roots)
	a := &Agent{agent.Transcripts{
		Base:  agent.NewBase(agent.About{Name: Name, Program: "qwen", Is: isProgram, ByHand: "--resume", Flags: flags, Variables: variables, Keys: []string{"OPENAI_API_KEY"}}, o),
		Homes: homes,
		Dir:   "projects",
		Files: agent.Source{Depth: 2, Match: isChat, Sift: sift},

		Elsewhere: func(home string) string { return homeVariable + "=" + home },
	}}
	a.Read, a.Trace, a.Size = a.read, a.trace, size
	return a, err
}

// isChat accepts PROJECT/chats/SESSION.jsonl.
func isChat(rel string) bool {
	parts := strings.Split(rel, string(filepath.Separator))
	if len(parts) != 3 || parts[1] != "chats" {
		return false
	}
	id, found := strings.CutSuffix(parts[2], ".jsonl")
	return found && agent.IsUUID(id)
}
