// Package codex knows the Codex CLI: where its rollouts are, what a line of
// them means, which process holds a session, and how a session is continued.
package codex

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
)

// Name is Codex's name in configuration, status and metrics.
const Name = "codex"

// homeVariable is the environment variable that moves Codex's home.
const homeVariable = "CODEX_HOME"

// Options says which Codex is meant. The zero Options is the user's own.
type Options struct {
	Roots   []string       // homes, absolute; empty: $CODEX_HOME, else ~/.codex
	Command string         // the program's name or path; empty: it is looked for
	Grace   time.Duration  // a clock time this far in the past means now, not tomorrow
	Zone    *time.Location // of clock times that name none; nil means local
}

// Agent is Codex with its homes.
type Agent struct {
	command string
	reader  limit.Reader // without its time
	homes   []home
	usual   string // the home that a run without CODEX_HOME of its own has
	userDir string // the user's home directory
	proc    procfs
	heads   cache[head]
	dirs    cache[workDir]
}

var (
	_ agent.Agent      = (*Agent)(nil)
	_ agent.Recogniser = (*Agent)(nil)
	_ agent.Recorder   = (*Agent)(nil)
	_ agent.Printer    = (*Agent)(nil)
	_ agent.Talker     = (*Agent)(nil)
)

// home is one home of Codex: one account.
type home struct {
	root    string
	account string
}

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	userDir, userErr := os.UserHomeDir()
	usual := os.Getenv(homeVariable)
	if usual == "" && userErr == nil {
		usual = filepath.Join(userDir, ".codex")
	}
	roots := o.Roots
	if len(roots) == 0 {
		if usual == "" {
			return nil, fmt.Errorf("find the home of %s: %w", Name, userErr)
		}
		roots = []string{usual}
	}

	a := &Agent{
		command: o.Command,
		reader:  limit.Reader{Zone: o.Zone, Grace: o.Grace},
		usual:   filepath.Clean(usual),
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
		if h.root != a.usual {
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

// Sources returns the directory of rollouts of each home. A session is
// continued in the file, and so in the directory of the day, that it began in.
func (a *Agent) Sources() []agent.Source {
	sources := make([]agent.Source, 0, len(a.homes))
	for _, h := range a.homes {
		sources = append(sources, agent.Source{
			Account: h.account,
			Root:    filepath.Join(h.root, "sessions"),
			Depth:   3,
			Match:   func(rel string) bool { return rolloutPath.MatchString(filepath.ToSlash(rel)) },
			Sift:    sift,
		})
	}
	return sources
}

var rolloutPath = regexp.MustCompile(`^\d{4}/\d\d/\d\d/rollout-[^/]+\.jsonl$`)

// homeOf returns the home that the rollout lies in, or the first.
func (a *Agent) homeOf(rollout string) home {
	for _, h := range a.homes {
		if strings.HasPrefix(rollout, h.root+string(filepath.Separator)) {
			return h
		}
	}
	return a.homes[0]
}
