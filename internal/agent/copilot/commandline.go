package copilot

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"resumed/internal/agent"
	"resumed/internal/leash"
)

var _ agent.CommandLine = (*Agent)(nil)

// invocation is a run that is given its prompt.
type invocation struct {
	leash.Arguments
	room *Agent
}

// Invocation says what a command line asks for that runs GitHub Copilot CLI without a
// terminal.
func (a *Agent) Invocation(args []string) (agent.Invocation, bool) {
	i := invocation{flags.Parse(args), a}
	return i, i.Has("-p", "--prompt")
}

func (i invocation) Prompted() bool { return i.Value("-p", "--prompt") != "" }

func (i invocation) Session() string {
	if id := cmp.Or(i.Value("--session-id"), i.Value("-r", "--resume")); agent.IsUUID(id) { // not a name, nor the beginning of an id
		return id
	}
	return ""
}

func (i invocation) Give(id string) []string {
	if i.Has("--session-id", "-r", "--resume", "--continue", "--connect") {
		return nil
	}
	return []string{"--session-id", id}
}

// Begin believes the id that GitHub Copilot CLI prints to programs. One that it was given
// counts where it has begun a session of it.
func (i invocation) Begin(string) func(context.Context, agent.Ended) agent.Trail {
	return func(_ context.Context, run agent.Ended) agent.Trail {
		id := run.Session
		if i.Value("--output-format") == "json" {
			id = cmp.Or(agent.ToldID(run.Recording, "sessionId"), id)
		}
		if !agent.IsUUID(id) {
			return agent.Trail{}
		}
		transcript := filepath.Join(i.room.Homes.Usual, "session-state", id, eventsFile)
		if _, err := os.Stat(transcript); err != nil {
			return agent.Trail{}
		}
		return agent.Trail{Session: id, Transcript: transcript}
	}
}

func (i invocation) Resume(t agent.Trail, prompt string) []string {
	args := i.Options("-r", "--resume", "--session-id", "--continue", "-n", "--name", "-p", "--prompt", "--attachment")
	return leash.WithValue(append(args, "--resume", t.Session), "-p", "--prompt", prompt)
}
