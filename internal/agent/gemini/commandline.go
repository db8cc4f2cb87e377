package gemini

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/process"
)

// invocation is a run that is given its prompt.
type invocation struct {
	agent.PromptLine
	room *Agent
}

// Invocation says what a command line asks for that runs Gemini CLI without a
// terminal.
func (a *Agent) Invocation(args []string) (agent.Invocation, bool) {
	line, ok := a.PromptLine(args)
	return invocation{line, a}, ok
}

// Begin believes the id that Gemini CLI prints to programs. To people it prints
// none: then the session is the one new chat of the directory that begins with
// the line's own prompt.
func (i invocation) Begin(dir string) func(context.Context, agent.Ended) agent.Trail {
	begun := i.room.Homes.NewFiles(described.Glob)
	return func(_ context.Context, run agent.Ended) agent.Trail {
		t := agent.Trail{Status: status(run.Code)}
		id := i.Told(run)
		if _, err := os.Stat(filepath.Join(i.room.Homes.Usual, "tmp")); id != "" && err != nil {
			t.Session, t.Again = id, true // nobody can look
			return t
		}
		paths := begun()
		if id != "" {
			paths = i.room.Homes.Files(described.Glob)
		}
		var found []chat
		for _, path := range paths {
			if c, ok := i.room.chat(path, dir); ok && (c.id == id || id == "" && agent.Said(c.first, i.Prompt())) {
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
	h := a.head(agent.Line{Path: path})
	if h.id == "" || !process.SameDir(h.cwd, dir) {
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
	return i.PromptLine.Resume(t, prompt)
}
