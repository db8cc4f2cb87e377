// Package qwen knows Qwen Code: where its chats are, what a line of them means,
// which process holds a session, and how a session is continued.
package qwen

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/procfs"
)

// Name is Qwen Code's name in configuration, status and metrics.
const Name = "qwen-code"

// homeVariable names the home of Qwen Code.
const homeVariable = "QWEN_HOME"

// Builtin is Qwen Code in the list of agents.
var Builtin = agent.Builtin{
	Name:  Name,
	Title: "Qwen Code",
	New:   func(o agent.Options) (agent.Agent, error) { return New(o) },
}

// Options says which Qwen Code is meant: without Roots its home is $QWEN_RUNTIME_DIR,
// $QWEN_HOME, else ~/.qwen.
type Options = agent.Options

// Agent is Qwen Code with its homes.
type Agent struct {
	command   string
	env       []string
	reader    limit.Reader // without its time
	homes     agent.Homes
	userDir   string
	processes agent.Processes
}

var (
	_ agent.Agent = (*Agent)(nil)
)

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	userDir, userErr := os.UserHomeDir()
	usual := cmp.Or(os.Getenv("QWEN_RUNTIME_DIR"), os.Getenv(homeVariable))
	if usual == "" && userErr == nil {
		usual = filepath.Join(userDir, ".qwen")
	}
	homes, err := agent.NewHomes(Name, usual, o.Roots)
	return &Agent{
		command:   o.Command,
		env:       slices.Clone(o.Env),
		reader:    limit.Reader{Zone: o.Zone, Grace: o.Grace},
		homes:     homes,
		userDir:   userDir,
		processes: agent.Processes{FS: procfs.Proc},
	}, err
}

// Name is the agent's name in configuration, status and metrics.
func (a *Agent) Name() string { return Name }

// Sources returns the directory of projects of each home.
func (a *Agent) Sources() []agent.Source {
	return a.homes.Sources("projects", agent.Source{Depth: 2, Match: isChat, Sift: sift})
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
