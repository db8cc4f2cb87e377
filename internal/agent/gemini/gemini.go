// Package gemini knows Gemini CLI: where its chats are, what a line of them
// means, which process holds a session, how a session is continued, and what
// must be cleared away after that.
package gemini

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"resumed/internal/agent"
)

// Name is Gemini CLI's name in configuration, status and metrics.
const Name = "gemini"

// homeName is what every home of Gemini CLI is called: only the directory
// around it can be chosen.
const homeName = ".gemini"

// homeVariable names the directory around the home.
const homeVariable = "GEMINI_CLI_HOME"

// Builtin is Gemini CLI in the list of agents.
var Builtin = agent.Builtin{
	Name:      Name,
	Title:     "Gemini CLI",
	Headless:  "gemini -p",
	Variables: []string{homeVariable},
	Hands:     agent.Hands{SignIn: "run gemini and type /auth", Pay: "look at plan and billing of its Google account", Shorten: "/compress"},
	New:       func(o agent.Options) (agent.Agent, error) { return New(o) },
}

// Options says which Gemini CLI is meant: Roots are each called .gemini; without
// any it is the one in $GEMINI_CLI_HOME, else in ~.
type Options = agent.Options

// Agent is Gemini CLI with its homes.
type Agent struct {
	agent.Transcripts
	heads agent.Cache[head] // neither a header nor a project's root changes
}

var _ agent.Reader = (*Agent)(nil)

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	usual := agent.UsualHome("", homeVariable) // the directory around it
	if usual != "" {
		usual = filepath.Join(usual, homeName)
	}
	homes, err := agent.NewHomes(Name, usual, o.Roots)
	bad := []error{err}
	for _, root := range homes.Roots {
		if filepath.Base(root) != homeName {
			bad = append(bad, fmt.Errorf("root %q of %s is not called %s, as every home of it is", root, Name, homeName))
		}
	}
	a := &Agent{Transcripts: agent.Transcripts{
		Base:  agent.NewBase(agent.About{Name: Name, Program: "gemini", Is: isProgram, ByHand: "--resume", Flags: flags, Variables: variables, Account: account, Keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}}, o),
		Homes: homes,
		Dir:   "tmp",
		Files: agent.Source{Depth: 2, Match: isChat, Sift: sift},

		Elsewhere: func(home string) string { return homeVariable + "=" + filepath.Dir(home) },
	}}
	a.Read, a.Trace, a.Size = a.read, trace, size
	return a, errors.Join(bad...)
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
	listBegins     = []byte(`{"$set":{"messages":[{"`)
	errorType      = []byte(`"type":"error"`)
	infoType       = []byte(`"type":"info"`)
	quotedSet      = []byte(`"$set"`)
	quotedMessages = []byte(`"messages"`)
	quotedGemini   = []byte(`"gemini"`)
	quotedType     = []byte(`"type"`)
	tellers        = [][]byte{[]byte(`"user"`), []byte(`"error"`), []byte(`"info"`), []byte(`"$rewindTo"`)}
)

// sift passes over what cannot tell anything: updates of the metadata, half of
// a chat's lines.
func sift(line []byte) agent.Weight {
	if bytes.HasPrefix(line, listBegins) && !bytes.Contains(line, errorType) && !bytes.Contains(line, infoType) {
		return agent.Nothing // all messages anew, of which none ends anything
	}
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
