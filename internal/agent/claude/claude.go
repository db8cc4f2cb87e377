// Package claude knows Claude Code: where its transcripts are, what a line of
// them means, which process holds a session, and how a session is continued.
package claude

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/procfs"
)

// Name is Claude Code's name in configuration, status and metrics.
const Name = "claude-code"

// Builtin is Claude Code in the list of agents.
var Builtin = agent.Builtin{
	Name:  Name,
	Title: "Claude Code",
	New:   func(o agent.Options) (agent.Agent, error) { return New(o) },
}

// Options says which Claude Code is meant: without Roots its home is $CLAUDE_CONFIG_DIR,
// else ~/.claude.
type Options = agent.Options

// Agent is Claude Code with its config homes.
type Agent struct {
	command string
	env     []string
	reader  limit.Reader // without its time
	homes   agent.Homes
	userDir string // the user's home directory
	proc    agent.Processes
	cwds    cwdCache
}

var (
	_ agent.Agent  = (*Agent)(nil)
	_ agent.Talker = (*Agent)(nil)
)

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	userDir, userErr := os.UserHomeDir()
	usual := os.Getenv("CLAUDE_CONFIG_DIR")
	if usual == "" && userErr == nil {
		usual = filepath.Join(userDir, ".claude")
	}
	homes, err := agent.NewHomes(Name, usual, o.Roots)
	return &Agent{
		command: o.Command,
		env:     slices.Clone(o.Env),
		reader:  limit.Reader{Zone: o.Zone, Grace: o.Grace},
		homes:   homes,
		userDir: userDir,
		proc:    agent.Processes{FS: procfs.Proc},
	}, err
}

// Name is the agent's name in configuration, status and metrics.
func (a *Agent) Name() string { return Name }

// Sources returns the directory of transcripts of each config home.
func (a *Agent) Sources() []agent.Source {
	return a.homes.Sources("projects", agent.Source{Depth: 1, Match: isTranscript, Sift: sift})
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

// cwdCache remembers where sessions began. Transcripts are only ever appended
// to, so the first directory stays what it was.
type cwdCache struct {
	mu     sync.Mutex
	byPath map[string]string // guarded by mu
}

const maxCwds = 4096 // far beyond the sessions that move at a time

func (c *cwdCache) get(path string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cwd, ok := c.byPath[path]
	return cwd, ok
}

func (c *cwdCache) put(path, cwd string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byPath == nil || len(c.byPath) >= maxCwds {
		c.byPath = make(map[string]string)
	}
	c.byPath[path] = cwd
}
