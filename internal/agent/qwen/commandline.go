package qwen

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/process"
)

var _ agent.CommandLine = (*Agent)(nil)

// subcommands are words that are no prompt.
var subcommands = []string{"mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "auth", "channel"}

// invocation is a run that is given its prompt.
type invocation struct {
	leash.Arguments
	room *Agent
}

// Invocation says what a command line asks for that runs Qwen Code without a
// terminal.
func (a *Agent) Invocation(args []string) (agent.Invocation, bool) {
	i := invocation{flags.Parse(args), a}
	plain := i.Plain()
	if len(plain) > 0 && slices.Contains(subcommands, plain[0]) || i.Has("-i", "--prompt-interactive") {
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
		if strings.Contains(id, "-") { // not an index
			return agent.PlainID(id)
		}
	}
	return ""
}

func (i invocation) Give(string) []string { return nil }

// Begin believes the id that Qwen Code prints to programs. To people it prints
// none: then the session is the one new chat of the directory that begins with
// the line's own prompt.
func (i invocation) Begin(dir string) func(context.Context, agent.Ended) agent.Trail {
	begun := i.room.Homes.NewFiles("projects/*/chats/*.jsonl")
	return func(_ context.Context, run agent.Ended) agent.Trail {
		id := run.Session
		if strings.HasSuffix(i.Value("-o", "--output-format"), "json") {
			id = cmp.Or(agent.ToldID(run.Recording, "session_id"), id)
		}
		if id != "" {
			return agent.Trail{Session: id}
		}
		found := slices.DeleteFunc(begun(), func(path string) bool {
			cwd, first := opening(path)
			return !process.SameDir(cwd, dir) || !agent.Said(first, i.prompt())
		})
		if len(found) != 1 {
			return agent.Trail{}
		}
		return agent.Trail{Session: agent.PlainID(strings.TrimSuffix(filepath.Base(found[0]), ".jsonl")), Transcript: found[0]}
	}
}

// opening returns what a chat begins with: where it works, and what was asked.
func opening(chat string) (cwd, prompt string) {
	_ = agent.LinesBack(context.Background(), chat, func(line agent.Line) bool { // what cannot be read is nobody's
		if r, ok := parse(line.Data); ok && !line.Cut && r.prompts() {
			cwd, prompt = r.Cwd, r.text()
		}
		return true
	})
	return cwd, prompt
}

func (i invocation) Resume(t agent.Trail, prompt string) []string {
	args := i.Options("-r", "--resume", "--session-id", "-c", "--continue", "-p", "--prompt", "--input-format")
	args = append(args, "--resume", t.Session)
	return leash.WithValue(args, "-p", "--prompt", prompt)
}
