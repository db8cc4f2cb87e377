package gemini

import (
	"context"
	"os"
	"path/filepath"

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

// Begin finds the session of a run as for any described agent. It counts if its chat still
// holds a conversation of the directory.
func (i invocation) Begin(dir string) func(context.Context, agent.Ended) agent.Trail {
	begun := i.PromptLine.Begin(dir)
	return func(ctx context.Context, run agent.Ended) agent.Trail {
		t := begun(ctx, run)
		t.Status = status(run.Code)
		homes := i.room.Homes
		if _, err := os.Stat(filepath.Join(homes.Usual, "tmp")); t.Session != "" && err != nil {
			t.Again = true // it cannot be looked for
			return t
		}
		chats := []string{t.Transcript}
		if t.Transcript == "" && t.Session != "" {
			chats = homes.Files(described.Glob)
		}
		left := agent.Trail{Status: t.Status}
		for _, path := range chats {
			id, cwd := place(agent.Line{Path: path})
			if id == "" || id != t.Session || !process.SameDir(cwd, dir) {
				continue
			}
			if holds, open := conversation(ctx, path); holds {
				left.Session, left.Transcript, left.Again = id, path, !open
			}
		}
		return left
	}
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
