package gemini

import (
	"context"
	"os"
	"path/filepath"

	"resumed/internal/agent"
	"resumed/internal/process"
)

// invocation is a run with a prompt on its command line.
type invocation struct {
	agent.PromptLine
	room *Agent
}

// Invocation parses a command line that runs Gemini CLI without a terminal.
func (a *Agent) Invocation(args []string) (agent.Invocation, bool) {
	line, ok := a.PromptLine(args)
	return invocation{line, a}, ok
}

// Begin finds the session of a run as for any described agent. It counts if its chat still has a conversation of
// the directory.
func (i invocation) Begin(dir string) func(context.Context, agent.Ended) agent.Trail {
	begun := i.PromptLine.Begin(dir)
	return func(ctx context.Context, run agent.Ended) agent.Trail {
		t := begun(ctx, run)
		t.Status = status(run.Code)
		homes := i.room.Homes
		if _, err := os.Stat(filepath.Join(homes.Usual, "tmp")); t.Session != "" && err != nil {
			t.Again = true // chats cannot be searched
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

// status returns the HTTP status of an exit code, which is the status modulo 256.
func status(code int) int {
	switch status := code + 256; status {
	case 400, 401, 403, 408, 413, 429, 500, 502, 503, 504:
		return status
	default:
		return 0
	}
}

// Resume sends the prompt again if Gemini CLI has removed it.
func (i invocation) Resume(t agent.Trail, prompt string) []string {
	if t.Again {
		args := append(i.Options("-r", "--resume", "--session-id"), "--resume", t.Session)
		return append(args, i.Plain()...)
	}
	return i.PromptLine.Resume(t, prompt)
}
