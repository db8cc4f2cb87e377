// Package gemini knows Gemini CLI: where its chats are, what a line of them
// means, which process holds a session, how a session is continued, and what
// must be cleared away after that.
package gemini

import (
	"bytes"
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

// Name is Gemini CLI's name in configuration, status and metrics.
const Name = "gemini"

// homeName is what every home of Gemini CLI is called: only the directory
// around it can be chosen.
const homeName = ".gemini"

// homeVariable names the directory around the home.
const homeVariable = "GEMINI_CLI_HOME"

// Options says which Gemini CLI is meant. The zero Options is the user's own.
type Options struct {
	Roots   []string       // homes, absolute, each called .gemini; empty: in $GEMINI_CLI_HOME, else in ~
	Command string         // the program's name or path; empty: it is looked for
	Env     []string       // KEY=value, added for resumed runs
	Grace   time.Duration  // a clock time this far in the past means now, not tomorrow
	Zone    *time.Location // of clock times that name none; nil means local
}

// Agent is Gemini CLI with its homes.
type Agent struct {
	command   string
	env       []string
	reader    limit.Reader // without its time
	usual     string       // the home that a run without our help would take
	roots     []string
	userDir   string
	processes agent.Processes
	heads     headCache
}

var (
	_ agent.Agent      = (*Agent)(nil)
	_ agent.Recogniser = (*Agent)(nil)
	_ agent.Recorder   = (*Agent)(nil)
	_ agent.Printer    = (*Agent)(nil)
	_ agent.Tidier     = (*Agent)(nil)
	_ agent.Noter      = (*Agent)(nil)
)

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	userDir, userErr := os.UserHomeDir()
	around := os.Getenv(homeVariable)
	if around == "" {
		around = userDir
	}
	a := &Agent{
		command:   o.Command,
		env:       slices.Clone(o.Env),
		reader:    limit.Reader{Zone: o.Zone, Grace: o.Grace},
		userDir:   userDir,
		processes: "/proc",
	}
	if around != "" {
		a.usual = filepath.Join(around, homeName)
	}
	roots := o.Roots
	if len(roots) == 0 {
		if a.usual == "" {
			return nil, fmt.Errorf("find the home of %s: %w", Name, userErr)
		}
		roots = []string{a.usual}
	}
	var bad []error
	for _, root := range roots {
		switch root = filepath.Clean(root); {
		case !filepath.IsAbs(root):
			bad = append(bad, fmt.Errorf("root %q of %s is not an absolute path", root, Name))
		case filepath.Base(root) != homeName:
			bad = append(bad, fmt.Errorf("root %q of %s is not called %s, as every home of it is", root, Name, homeName))
		case !slices.Contains(a.roots, root):
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
			Root:    filepath.Join(root, "tmp"),
			Depth:   2,
			Match:   isChat,
			Sift:    sift,
		})
	}
	return sources
}

// chatName is how a session's file is called: when it began, to the minute,
// and the first 8 digits of its id.
var chatName = regexp.MustCompile(`^session-.+-([0-9A-Za-z_-]{8})\.jsonl$`)

// isChat accepts PROJECT/chats/session-TIME-ID.jsonl. Subagents write deeper.
func isChat(rel string) bool {
	parts := strings.Split(rel, string(filepath.Separator))
	return len(parts) == 3 && parts[1] == "chats" && chatName.MatchString(parts[2])
}

// Within a JSON string a quote is escaped, so these stand only where the record
// itself has them.
var (
	quotedSet      = []byte(`"$set"`)
	quotedMessages = []byte(`"messages"`)
	quotedGemini   = []byte(`"gemini"`)
	quotedType     = []byte(`"type"`)
	tellers        = [][]byte{[]byte(`"user"`), []byte(`"error"`), []byte(`"info"`), []byte(`"$rewindTo"`)}
)

// sift passes over what cannot tell anything: updates of the metadata, half of
// a chat's lines.
func sift(line []byte) agent.Weight {
	if kind, known := agent.TextAtEnds(line, "type"); known {
		return weigh(string(kind))
	}
	if bytes.Contains(line, quotedSet) && !bytes.Contains(line, quotedMessages) {
		return agent.Nothing
	}
	for _, teller := range tellers {
		if bytes.Contains(line, teller) {
			return agent.Matters
		}
	}
	if bytes.Contains(line, quotedGemini) && bytes.Contains(line, quotedType) {
		return agent.Moves
	}
	return agent.Nothing
}

// weigh judges a message by its type.
func weigh(kind string) agent.Weight {
	switch kind {
	case "gemini":
		return agent.Moves
	case "user", "error", "info":
		return agent.Matters
	default:
		return agent.Nothing
	}
}
