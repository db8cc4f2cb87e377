package claude

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"resumed/internal/agent/claude/startup"
	"resumed/internal/headless"
	"resumed/internal/leash"
)

var _ headless.CommandLine = (*Agent)(nil)

// invocation is a run with --print.
type invocation struct {
	leash.Arguments
	room *Agent
}

// Invocation parses a command line that runs Claude Code with --print.
func (a *Agent) Invocation(args []string) (headless.Invocation, bool) {
	i := invocation{startup.Flags.Parse(args), a}
	return i, i.Has("-p", "--print")
}

func (i invocation) Prompted() bool {
	return len(i.Plain()) > 0 && i.Value("--input-format") != "stream-json"
}

func (i invocation) Document() bool { return i.Value("--output-format") == "json" }

func (i invocation) Session() string {
	id := i.Value("--session-id")
	if id == "" && !i.Has("--fork-session") {
		id = strings.TrimSuffix(filepath.Base(i.Value("-r", "--resume")), ".jsonl") // it may also be the path of a transcript
	}
	return headless.PlainID(id)
}

func (i invocation) Give(id string) []string {
	continues := i.Has("-c", "--continue", "-r", "--resume", "--from-pr") && !i.Has("--fork-session")
	if i.keepsNothing() || i.Has("--session-id") || continues {
		return nil
	}
	return []string{"--session-id", id}
}

// keepsNothing reports whether the run stores nothing to continue, or not in this directory.
func (i invocation) keepsNothing() bool { return i.Has("--no-session-persistence", "-w", "--worktree") }

// Begin uses the id in the JSON output of Claude Code: old versions continue a session under a
// new id. Without it, the id that the run was given counts if it has a transcript, or if the
// transcripts cannot be searched.
func (i invocation) Begin(string) func(context.Context, headless.Ended) headless.Trail {
	return func(_ context.Context, run headless.Ended) headless.Trail {
		if strings.HasSuffix(i.Value("--output-format"), "json") {
			if told := headless.ToldID(run.Recording, "session_id"); told != "" {
				return headless.Trail{Session: told, Transcript: i.room.transcript(told)}
			}
		}
		if run.Session == "" || i.keepsNothing() {
			return headless.Trail{}
		}
		t := headless.Trail{Session: run.Session, Transcript: i.room.transcript(run.Session)}
		if _, err := os.Stat(filepath.Join(i.room.Homes.Usual, "projects")); t.Transcript == "" && err == nil {
			return headless.Trail{}
		}
		return t
	}
}

// transcript returns the path of a session's transcript; empty: not found.
func (a *Agent) transcript(id string) string { return a.Homes.File("projects/*/" + id + ".jsonl") }

func (i invocation) Resume(t headless.Trail, prompt string) []string {
	args := i.Options("-c", "--continue", "-r", "--resume", "--session-id", "--fork-session", "--from-pr",
		"--input-format", "--replay-user-messages")
	return leash.WithPrompt(append(args, "--resume", t.Session), prompt)
}
