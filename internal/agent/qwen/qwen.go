// Package qwen knows Qwen Code: where its chats are, what a line of them means,
// which process holds a session, and how a session is continued.
package qwen

import (
	"cmp"
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

// Name is Qwen Code's name in configuration, status and metrics.
const Name = "qwen-code"

// homeVariable names the home of Qwen Code.
const homeVariable = "QWEN_HOME"

// Options says which Qwen Code is meant. The zero Options is the user's own.
type Options struct {
	Roots   []string       // homes, absolute; empty: $QWEN_RUNTIME_DIR, $QWEN_HOME, else ~/.qwen
	Command string         // the program's name or path; empty: it is looked for
	Env     []string       // KEY=value, added for resumed runs
	Grace   time.Duration  // a clock time this far in the past means now, not tomorrow
	Zone    *time.Location // of clock times that name none; nil means local
}

// Agent is Qwen Code with its homes.
type Agent struct {
	command   string
	env       []string
	reader    limit.Reader // without its time
	usual     string       // the home that a run without our help would take
	roots     []string
	userDir   string
	processes agent.Processes
}

var (
	_ agent.Agent      = (*Agent)(nil)
	_ agent.Recogniser = (*Agent)(nil)
	_ agent.Recorder   = (*Agent)(nil)
	_ agent.Printer    = (*Agent)(nil)
)

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	userDir, userErr := os.UserHomeDir()
	usual := cmp.Or(os.Getenv("QWEN_RUNTIME_DIR"), os.Getenv(homeVariable))
	if usual == "" && userErr == nil {
		usual = filepath.Join(userDir, ".qwen")
	}
	roots := o.Roots
	if len(roots) == 0 {
		if usual == "" {
			return nil, fmt.Errorf("find the home of %s: %w", Name, userErr)
		}
		roots = []string{usual}
	}
	a := &Agent{
		command:   o.Command,
		env:       slices.Clone(o.Env),
		reader:    limit.Reader{Zone: o.Zone, Grace: o.Grace},
		usual:     filepath.Clean(usual),
		userDir:   userDir,
		processes: "/proc",
	}
	var bad []error
	for _, root := range roots {
		root = filepath.Clean(root)
		if !filepath.IsAbs(root) {
			bad = append(bad, fmt.Errorf("root %q of %s is not an absolute path", root, Name))
		} else if !slices.Contains(a.roots, root) {
			a.roots = append(a.roots, root)
		}
	}
	return a, errors.Join(bad...)
}

// Name is the agent's name in configuration, status and metrics.
func (a *Agent) Name() string { return Name }

// Sources returns the directory of projects of each home.
func (a *Agent) Sources() []agent.Source {
	sources := make([]agent.Source, 0, len(a.roots))
	for _, root := range a.roots {
		account := Name + ":default"
		if root != a.usual {
			account = Name + ":" + root
		}
		sources = append(sources, agent.Source{
			Account: account,
			Root:    filepath.Join(root, "projects"),
			Depth:   2,
			Match:   isChat,
			Sift:    sift,
		})
	}
	return sources
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// isChat accepts PROJECT/chats/SESSION.jsonl.
func isChat(rel string) bool {
	parts := strings.Split(rel, string(filepath.Separator))
	if len(parts) != 3 || parts[1] != "chats" {
		return false
	}
	id, found := strings.CutSuffix(parts[2], ".jsonl")
	return found && uuid.MatchString(id)
}
