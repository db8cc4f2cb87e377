package kimi

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/process"
)

var _ agent.CommandLine = (*Agent)(nil)

// invocation is a run that is given its prompt.
type invocation struct {
	leash.Arguments
	room *Agent
}

// Invocation says what a command line asks for that runs Kimi Code without a terminal.
func (a *Agent) Invocation(args []string) (agent.Invocation, bool) {
	i := invocation{flags.Parse(args), a}
	return i, i.Has(promptOptions...)
}

func (i invocation) Prompted() bool { return i.Value(promptOptions...) != "" }

func (i invocation) Session() string {
	if id := cmp.Or(i.Value("-S", "--session"), i.Value("-r", "--resume")); isID(id) {
		return id
	}
	return ""
}

func (i invocation) Give(string) []string { return nil }

// Begin believes the id that Kimi Code prints to programs when it is done. Where it
// failed it prints none: then the session is the one new one of the directory that
// begins with the line's own prompt.
func (i invocation) Begin(dir string) func(context.Context, agent.Ended) agent.Trail {
	begun := i.room.Homes.NewFiles("sessions/*/*/" + filepath.ToSlash(wireFile))
	return func(ctx context.Context, run agent.Ended) agent.Trail {
		id := run.Session
		if i.Value("--output-format") == "stream-json" {
			id = cmp.Or(agent.ToldID(run.Recording, "session_id"), id)
		}
		if isID(id) {
			return agent.Trail{Session: id}
		}
		found := slices.DeleteFunc(begun(), func(path string) bool {
			return !isID(filepath.Base(sessionDir(path))) || !process.SameDir(i.room.placeOf(path), dir) || !agent.Said(opening(ctx, path), i.Value(promptOptions...))
		})
		if len(found) != 1 {
			return agent.Trail{}
		}
		return agent.Trail{Session: filepath.Base(sessionDir(found[0])), Transcript: found[0]}
	}
}

// opening returns the first prompt of a file.
func opening(ctx context.Context, wire string) (first string) {
	_ = agent.LinesBack(ctx, wire, func(line agent.Line) bool { // what cannot be read is nobody's
		if r, ok := parse(line.Data); ok && !line.Cut && r.Type == prompted {
			first = r.said()
		}
		return true
	})
	return first
}

func (i invocation) Resume(t agent.Trail, prompt string) []string {
	args := i.Options("-S", "--session", "-r", "--resume", "-c", "-C", "--continue", "-p", "--prompt", "--agent", "--agent-file")
	return leash.WithValue(append(args, "--session", t.Session), "-p", "--prompt", prompt)
}
