package opencode

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent/opencode/database"
	"resumed/internal/agent/opencode/processes"
	"resumed/internal/headless"
	"resumed/internal/leash"
	"resumed/internal/process"
)

var _ headless.CommandLine = (*Agent)(nil)

type invocation struct {
	before, options leash.Arguments // on either side of run
	agent           *Agent
}

// Invocation parses a command line that runs opencode with run.
func (a *Agent) Invocation(args []string) (headless.Invocation, bool) {
	before, command, after := processes.Flags.Parse(args).Cut()
	return invocation{before, after, a}, command == "run"
}

func (i invocation) Prompted() bool { return len(i.options.Plain()) > 0 || i.options.Has("--command") }

func (i invocation) Session() string {
	if i.options.Has("--fork") {
		return ""
	}
	return headless.PlainID(i.options.Value("-s", "--session"))
}

func (i invocation) SessionIDArgs(string) []string { return nil }

// Track uses the id in the JSON output of opencode. The output for people has none: then the session is
// the only new one in the database with that directory and with the prompt of the command line.
func (i invocation) Track(dir string) func(context.Context, headless.Ended) headless.Continuation {
	began := time.Now()
	if named := i.options.Value("--dir"); filepath.IsAbs(named) {
		dir = named
	} else if named != "" {
		dir = filepath.Join(dir, named)
	}
	return func(ctx context.Context, run headless.Ended) headless.Continuation {
		told := headless.Continuation{Session: run.Session, Cwd: dir}
		if i.options.Value("--format") == "json" {
			told.Session = cmp.Or(headless.ToldID(run.Printed, "sessionID"), told.Session)
		}
		var found []headless.Continuation
		for _, home := range append([]string{i.agent.homes.Usual}, i.agent.homes.Roots...) {
			paths, _ := i.agent.databases(home) // a directory that cannot be listed has none
			for _, path := range paths {
				for _, id := range begun(ctx, path, told.Session, dir, began, i.prompt()) {
					found = append(found, headless.Continuation{Session: id, Transcript: path, Cwd: dir})
				}
			}
		}
		switch found = slices.Compact(found); {
		case len(found) == 1:
			return found[0]
		case told.Session != "":
			return told
		default:
			return headless.Continuation{}
		}
	}
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

// begun returns the sessions of a database with that id; without one, those that began in the directory
// since that time with that prompt, without child sessions. None if it cannot be read.
func begun(ctx context.Context, path, id, dir string, since time.Time, prompt string) (ids []string) {
	_ = database.ReadSteadily(ctx, path, func(db *database.DB) error {
		ids = nil
		all, err := db.Sessions(ctx, "")
		for _, s := range all {
			isNew := s.CreatedMS >= since.UnixMilli() && s.Parent == "" && process.SameDir(s.Directory, dir)
			if id != "" && s.ID != id || id == "" && !isNew {
				continue
			}
			if id == "" {
				first, err := db.FirstPrompt(ctx, s.ID)
				if err != nil {
					return err
				}
				if !headless.Said(first, prompt) {
					continue
				}
			}
			ids = append(ids, s.ID)
		}
		return err
	})
	return ids
}

// Resume omits what applies only to the beginning of a session.
func (i invocation) Resume(t headless.Continuation, prompt string) []string {
	return slices.Concat(i.before.Options(), []string{"run"},
		i.options.Options("-s", "--session", "-c", "--continue", "--fork", "--share", "--title", "-f", "--file", "--command"),
		[]string{"--session", t.Session}, words(prompt))
}
