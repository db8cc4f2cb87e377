package opencode

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/agent/opencode/processes"
	"resumed/internal/leash"
	"resumed/internal/process"
)

var _ agent.CommandLine = (*Agent)(nil)

// invocation is a command line with run.
type invocation struct {
	before, options leash.Arguments // on either side of run
	agent           *Agent
}

// Invocation parses a command line that runs opencode with run.
func (a *Agent) Invocation(args []string) (agent.Invocation, bool) {
	before, command, after := processes.Flags.Parse(args).Cut()
	return invocation{before, after, a}, command == "run"
}

func (i invocation) Prompted() bool { return len(i.options.Plain()) > 0 || i.options.Has("--command") }

func (i invocation) Session() string {
	if i.options.Has("--fork") {
		return ""
	}
	return agent.PlainID(i.options.Value("-s", "--session"))
}

// Document reports false: --format json prints a stream.
func (i invocation) Document() bool { return false }

func (i invocation) Give(string) []string { return nil }

// Begin uses the id in the JSON output of opencode. The output for people has none: then the session is
// the only new one in the database with that directory and with the prompt of the command line.
func (i invocation) Begin(dir string) func(context.Context, agent.Ended) agent.Trail {
	began := time.Now()
	if named := i.options.Value("--dir"); filepath.IsAbs(named) {
		dir = named
	} else if named != "" {
		dir = filepath.Join(dir, named)
	}
	return func(ctx context.Context, run agent.Ended) agent.Trail {
		t := agent.Trail{Session: run.Session, Cwd: dir}
		if i.options.Value("--format") == "json" {
			t.Session = cmp.Or(agent.ToldID(run.Recording, "sessionID"), t.Session)
		}
		if t.Session != "" {
			t.Transcript = i.agent.databaseOf(ctx, t.Session)
			return t
		}
		var found []agent.Trail
		for _, path := range i.agent.allDatabases() {
			for _, id := range begun(ctx, path, dir, began, i.prompt()) {
				found = append(found, agent.Trail{Session: id, Transcript: path, Cwd: dir})
			}
		}
		if found = slices.Compact(found); len(found) != 1 {
			return agent.Trail{}
		}
		return found[0]
	}
}

// allDatabases returns the databases of all homes.
func (a *Agent) allDatabases() (all []string) {
	for _, home := range append([]string{a.homes.Usual}, a.homes.Roots...) {
		paths, _ := a.databases(home) // a directory that cannot be listed has none
		all = append(all, paths...)
	}
	return all
}

// databaseOf returns the database that has the session; empty: none, or it cannot be read.
func (a *Agent) databaseOf(ctx context.Context, id string) string {
	for _, path := range a.allDatabases() {
		found := false
		err := database.ReadSteadily(ctx, path, func(db *database.DB) (err error) {
			_, found, err = db.Session(ctx, id)
			return err
		})
		if err == nil && found {
			return path
		}
	}
	return ""
}

// prompt returns the prompt as opencode stores it: arguments with a space are quoted.
func (i invocation) prompt() string {
	args := i.options.Plain()
	for n, arg := range args {
		if strings.Contains(arg, " ") {
			args[n] = `"` + strings.ReplaceAll(arg, `"`, `\"`) + `"`
		}
	}
	return strings.Join(args, " ")
}

// begun returns the sessions of a database that began in the directory since that time with that
// prompt, without child sessions; none if it cannot be read.
func begun(ctx context.Context, path, dir string, since time.Time, prompt string) (ids []string) {
	_ = database.ReadSteadily(ctx, path, func(db *database.DB) error {
		ids = nil
		all, err := db.Sessions(ctx)
		for _, s := range all {
			if s.CreatedMS < since.UnixMilli() || s.Parent != "" || !process.SameDir(s.Directory, dir) {
				continue
			}
			first, err := db.FirstPrompt(ctx, s.ID)
			if err != nil {
				return err
			}
			if agent.Said(first, prompt) {
				ids = append(ids, s.ID)
			}
		}
		return err
	})
	return ids
}

// Resume omits what applies only to the beginning of a session.
func (i invocation) Resume(t agent.Trail, prompt string) []string {
	return slices.Concat(i.before.Options(), []string{"run"},
		i.options.Options("-s", "--session", "-c", "--continue", "--fork", "--share", "--title", "-f", "--file", "--command"),
		[]string{"--session", t.Session}, words(prompt))
}
