package gemini

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/process"
)

var _ agent.CommandLine = (*Agent)(nil)

// subcommands are words that are no prompt.
var subcommands = []string{"mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "gemma"}

// invocation is a run that is given its prompt.
type invocation struct {
	leash.Arguments
	room *Agent
}

// Invocation says what a command line asks for that runs Gemini CLI without a
// terminal.
func (a *Agent) Invocation(args []string) (agent.Invocation, bool) {
	i := invocation{flags.Parse(args), a}
	plain := i.Plain()
	if len(plain) > 0 && slices.Contains(subcommands, plain[0]) || i.Has("-i", "--prompt-interactive", "--list-sessions") {
		return nil, false
	}
	return i, i.Has("-p", "--prompt") || len(plain) > 0
}

// prompt returns what the line says to do.
func (i invocation) prompt() string {
	return cmp.Or(i.Value("-p", "--prompt"), strings.Join(i.Plain(), " "))
}

func (i invocation) Prompted() bool { return i.prompt() != "" }

func (i invocation) Session() string {
	for _, id := range []string{i.Value("--session-id"), i.Value("-r", "--resume")} {
		if strings.Contains(id, "-") { // not an index, not "latest"
			return agent.PlainID(id)
		}
	}
	return ""
}

// Give leaves the id to Gemini CLI: versions that are still in use do not know
// the option, and would not run at all.
func (i invocation) Give(string) []string { return nil }

// chats are the files that hold sessions, below a home.
const chats = "tmp/*/chats/session-*.jsonl"

// Begin believes the id that Gemini CLI prints to programs. To people it prints
// none: then the session is the one new chat of the directory that begins with
// the line's own prompt.
func (i invocation) Begin(dir string) func(context.Context, agent.Ended) agent.Trail {
	begun := i.room.Homes.NewFiles(chats)
	return func(_ context.Context, run agent.Ended) agent.Trail {
		t := agent.Trail{Status: status(run.Code)}
		id := run.Session
		if strings.HasSuffix(i.Value("-o", "--output-format"), "json") {
			id = cmp.Or(agent.ToldID(run.Recording, "session_id"), id)
		}
		if _, err := os.Stat(filepath.Join(i.room.Homes.Usual, "tmp")); id != "" && err != nil {
			t.Session, t.Again = id, true // nobody can look
			return t
		}
		paths := begun()
		if id != "" {
			paths = i.room.Homes.Files(chats)
		}
		var found []chat
		for _, path := range paths {
			if c, ok := i.room.chat(path, dir); ok && (c.id == id || id == "" && agent.Said(c.first, i.prompt())) {
				found = append(found, c)
			}
		}
		if len(found) == 1 {
			t.Session, t.Transcript, t.Again = found[0].id, found[0].path, !found[0].open
		}
		return t
	}
}

// chat is what a session's file holds.
type chat struct {
	path, id string
	first    string // what was asked first
	open     bool   // the last that was said awaits an answer
}

// chat reads a session's file, or returns false where it is not of a session in
// the directory, or holds nothing: Gemini CLI takes a prompt that failed back out
// of the conversation, and throws away a chat that is empty then.
func (a *Agent) chat(path, dir string) (chat, bool) {
	h, ok := a.head(agent.Line{Path: path})
	if !ok || !process.SameDir(h.cwd, dir) {
		return chat{}, false
	}
	c, holds, listed := chat{path: path, id: h.id}, false, false
	hear := func(r record) {
		if !holds && (r.Type == "gemini" || r.Type == "user" && !r.isPreamble()) {
			holds, c.open = true, r.Type == "user"
		}
	}
	err := agent.LinesBack(context.Background(), path, func(line agent.Line) bool {
		r, ok := parse(line.Data)
		if line.Cut || !ok {
			return true
		}
		if r.prompts() {
			c.first = cmp.Or(textOf(partsOf(r.Typed)), r.text())
		}
		if listed {
			return true // what was said before counts only as far as it is listed
		}
		hear(r)
		for _, message := range slices.Backward(r.Set.Messages) {
			hear(message)
		}
		listed = r.Set.Messages != nil
		return true
	})
	return c, err == nil && holds
}

// status undoes what becomes of an HTTP status as an exit code.
func status(code int) int {
	switch status := code + 256; status {
	case 400, 401, 403, 408, 413, 429, 500, 502, 503, 504:
		return status
	default:
		return 0
	}
}

// Resume gives the prompt again where Gemini CLI has taken it back.
func (i invocation) Resume(t agent.Trail, prompt string) []string {
	if t.Again {
		args := append(i.Options("-r", "--resume", "--session-id"), "--resume", t.Session)
		return append(args, i.Plain()...)
	}
	args := append(i.Options("-r", "--resume", "--session-id", "-p", "--prompt"), "--resume", t.Session)
	return leash.WithValue(args, "-p", "--prompt", prompt)
}
