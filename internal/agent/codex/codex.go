// Package codex knows the Codex CLI: where its rollouts are, what a line of
// them means, which process holds a session, and how a session is continued.
package codex

import (
	"os"
	"path/filepath"
	"regexp"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/procfs"
)

// Name is Codex's name in configuration, status and metrics.
const Name = "codex"

// homeVariable is the environment variable that moves Codex's home.
const homeVariable = "CODEX_HOME"

// Builtin is Codex in the list of agents.
var Builtin = agent.Builtin{
	Name:  Name,
	Title: "Codex",
	New:   func(o agent.Options) (agent.Agent, error) { return New(o) },
}

// Options says which Codex is meant: without Roots its home is $CODEX_HOME, else
// ~/.codex.
type Options = agent.Options

// Agent is Codex with its homes.
type Agent struct {
	command string
	reader  limit.Reader // without its time
	homes   agent.Homes
	userDir string // the user's home directory
	proc    agent.Processes
	heads   cache[head]
	dirs    cache[workDir]
}

var (
	_ agent.Agent  = (*Agent)(nil)
	_ agent.Talker = (*Agent)(nil)
)

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	userDir, userErr := os.UserHomeDir()
	usual := os.Getenv(homeVariable)
	if usual == "" && userErr == nil {
		usual = filepath.Join(userDir, ".codex")
	}
	homes, err := agent.NewHomes(Name, usual, o.Roots)
	return &Agent{
		command: o.Command,
		reader:  limit.Reader{Zone: o.Zone, Grace: o.Grace},
		homes:   homes,
		userDir: userDir,
		proc:    agent.Processes{FS: procfs.Proc},
	}, err
}

// Name is the agent's name in configuration, status and metrics.
func (a *Agent) Name() string { return Name }

// Sources returns the directory of rollouts of each home. A session is
// continued in the file, and so in the directory of the day, that it began in.
func (a *Agent) Sources() []agent.Source {
	return a.homes.Sources("sessions", agent.Source{
		Depth: 3,
		Match: func(rel string) bool { return rolloutPath.MatchString(filepath.ToSlash(rel)) },
		Sift:  sift,
	})
}

var rolloutPath = regexp.MustCompile(`^\d{4}/\d\d/\d\d/rollout-[^/]+\.jsonl$`)
