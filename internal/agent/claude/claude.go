// Package claude knows Claude Code: where its transcripts are, what a line of
// them means, which process holds a session, and how a session is continued.
package claude

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
)

// Name is Claude Code's name in configuration, status and metrics.
const Name = "claude-code"

// Options says which Claude Code is meant. The zero Options is the user's own.
type Options struct {
	Roots   []string       // config homes, absolute; empty: $CLAUDE_CONFIG_DIR, else ~/.claude
	Command string         // the program's name or path; empty: it is looked for
	Env     []string       // KEY=value, added for resumed runs
	Grace   time.Duration  // a clock time this far in the past means now, not tomorrow
	Zone    *time.Location // of clock times that name none; nil means local
}

// Agent is Claude Code with its config homes.
type Agent struct {
	command string
	env     []string
	reader  limit.Reader // without its time
	homes   []home
	userDir string // the user's home directory
	proc    procfs
	cwds    cwdCache
}

var (
	_ agent.Agent      = (*Agent)(nil)
	_ agent.Recogniser = (*Agent)(nil)
	_ agent.Recorder   = (*Agent)(nil)
	_ agent.Printer    = (*Agent)(nil)
	_ agent.Talker     = (*Agent)(nil)
)

// home is one config home: one account.
type home struct {
	root    string
	account string
}

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	userDir, userErr := os.UserHomeDir()
	usual := os.Getenv("CLAUDE_CONFIG_DIR")
	if usual == "" && userErr == nil {
		usual = filepath.Join(userDir, ".claude")
	}
	roots := o.Roots
	if len(roots) == 0 {
		if usual == "" {
			return nil, fmt.Errorf("find the config home of %s: %w", Name, userErr)
		}
		roots = []string{usual}
	}

	a := &Agent{
		command: o.Command,
		env:     slices.Clone(o.Env),
		reader:  limit.Reader{Zone: o.Zone, Grace: o.Grace},
		userDir: userDir,
		proc:    "/proc",
	}
	var bad []error
	for _, root := range roots {
		if !filepath.IsAbs(root) {
			bad = append(bad, fmt.Errorf("root %q of %s is not an absolute path", root, Name))
			continue
		}
		h := home{root: filepath.Clean(root), account: Name + ":default"}
		if h.root != filepath.Clean(usual) {
			h.account = Name + ":" + h.root
		}
		if !slices.Contains(a.homes, h) {
			a.homes = append(a.homes, h)
		}
	}
	return a, errors.Join(bad...)
}

// Name is the agent's name in configuration, status and metrics.
func (a *Agent) Name() string { return Name }

// Sources returns the directory of transcripts of each config home.
func (a *Agent) Sources() []agent.Source {
	sources := make([]agent.Source, 0, len(a.homes))
	for _, h := range a.homes {
		sources = append(sources, agent.Source{
			Account: h.account,
			Root:    filepath.Join(h.root, "projects"),
			Depth:   1,
			Match:   isTranscript,
			Sift:    sift,
		})
	}
	return sources
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

// homeOf returns the config home that the transcript lies in, or the first.
func (a *Agent) homeOf(transcript string) home {
	for _, h := range a.homes {
		if strings.HasPrefix(transcript, h.root+string(filepath.Separator)) {
			return h
		}
	}
	return a.homes[0]
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
