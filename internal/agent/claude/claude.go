// Package claude knows Claude Code: where its transcripts are, what a line of
// them means, which process holds a session, and how a session is continued.
package claude

import (
	"path/filepath"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/hooks"
)

// Name is Claude Code's name in configuration, status and metrics.
const Name = "claude-code"

// homeVariable is the environment variable that moves its config home.
const homeVariable = "CLAUDE_CONFIG_DIR"

// Builtin is Claude Code in the list of agents.
var Builtin = agent.Builtin{
	Name:      Name,
	Title:     "Claude Code",
	Headless:  "claude -p",
	Models:    true,
	OwnKey:    keyVariable,
	Variables: []string{homeVariable},
	Hands:     agent.Hands{SignIn: "run claude and type /login", Pay: "raise the spend limit or buy credits at claude.ai/settings/usage", Shorten: "/compact"},
	New:       func(o agent.Options) (agent.Agent, error) { return New(o) },

	StatusLine: statusLine,
	Hook:       &agent.Hook{Read: hooks.Read, File: settingsFile, Add: hooks.Add, Remove: hooks.Remove, Calls: hooks.Calls},
}

// Options says which Claude Code is meant: without Roots its home is
// $CLAUDE_CONFIG_DIR, else ~/.claude.
type Options = agent.Options

// Agent is Claude Code with its config homes.
type Agent struct {
	agent.Transcripts
	cwds     agent.Cache[string] // where sessions began; transcripts are only appended to
	plain    agent.Cache[int64]  // from where on the turn under way has no note
	fallback string              // what a resume may go on with after an overload; empty: nothing else
	usage    agent.Settings[cached]
}

var _ agent.Reader = (*Agent)(nil)

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	homes, err := agent.NewHomes(Name, agent.UsualHome(".claude", homeVariable), o.Roots)
	a := &Agent{Transcripts: agent.Transcripts{
		Base: agent.NewBase(agent.About{
			Name: Name, Program: "claude", Is: isClaude, ByHand: "--resume",
			Flags: flags, Variables: variables, Login: login, Keys: keys[:3], Places: []string{".claude/local"},
		}, o),
		Homes: homes,
		Dir:   "projects",
		Files: agent.Source{Depth: 1, Match: isTranscript, Sift: sift},
	}, fallback: o.Model}
	a.Read, a.Trace, a.Size = a.read, a.trace, size
	a.Elsewhere = func(home string) string {
		if home == filepath.Join(a.UserDir, ".claude") {
			return "" // naming it would move .claude.json, and with it the login
		}
		return homeVariable + "=" + home
	}
	return a, err
}

// settingsFile is where a person's own settings stand, hooks among them.
func settingsFile() string {
	return filepath.Join(agent.UsualHome(".claude", homeVariable), "settings.json")
}

// isTranscript accepts PROJECT/SESSION.jsonl. Subagents write deeper, and in
// 2.0 beside their session as agent-ID.jsonl: neither is a session.
func isTranscript(rel string) bool {
	project, file, found := strings.Cut(rel, string(filepath.Separator))
	return found && project != "" &&
		!strings.ContainsRune(file, filepath.Separator) &&
		strings.HasSuffix(file, ".jsonl") &&
		!strings.HasPrefix(file, "agent-")
}
