package opencode

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/process"
	"resumed/internal/sqliteread"
)

var _ agent.CommandLine = (*Agent)(nil)

// invocation is a run with run.
type invocation struct {
	before, options leash.Arguments // on either side of run
	room            *Agent
}

// Invocation says what a command line asks for that runs opencode with run.
func (a *Agent) Invocation(args []string) (agent.Invocation, bool) {
	before, command, after := flags.Parse(args).Cut()
	return invocation{before, after, a}, command == "run"
}

func (i invocation) Prompted() bool { return len(i.options.Plain()) > 0 || i.options.Has("--command") }

func (i invocation) Session() string {
	if i.options.Has("--fork") {
		return ""
	}
	return agent.PlainID(i.options.Value("-s", "--session"))
}

func (i invocation) Give(string) []string { return nil }

// Begin believes the id that opencode prints to programs. To people it prints
// none: then the session is the one new row of the database that is of the
// directory and begins with the line's own prompt.
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
			return t
		}
		var found []agent.Trail
		for _, path := range i.room.allDatabases() {
			var ids []string
			_ = sqliteread.Steadily(ctx, func(ctx context.Context) (err error) { // what cannot be read tells nothing
				ids, err = begun(ctx, path, dir, began, i.said())
				return err
			})
			for _, id := range ids {
				found = append(found, agent.Trail{Session: id, Transcript: path, Cwd: dir})
			}
		}
		if len(found) != 1 {
			return agent.Trail{}
		}
		return found[0]
	}
}

// allDatabases returns those of the home that a run takes by itself, and of those
// that are configured.
func (a *Agent) allDatabases() []string {
	homes := a.homes
	if usual, ok := a.brand.usualHome(a.UserDir); ok && !slices.Contains(homes, usual) {
		homes = append(slices.Clone(homes), usual)
	}
	var all []string
	for _, h := range homes {
		paths, _ := h.databases() // what cannot be listed holds nothing
		all = append(all, paths...)
	}
	return all
}

// said returns the prompt as opencode keeps it: it puts quotes around arguments
// that contain a blank.
func (i invocation) said() string {
	args := i.options.Plain()
	for n, arg := range args {
		if strings.Contains(arg, " ") {
			args[n] = `"` + strings.ReplaceAll(arg, `"`, `\"`) + `"`
		}
	}
	return strings.Join(args, " ")
}

// begun returns the sessions of a database that have begun in the directory since
// that time, with that prompt. Those of its own agents are none.
func begun(ctx context.Context, path, dir string, since time.Time, prompt string) (ids []string, err error) {
	err = readDatabase(ctx, path, func(db *database) error {
		all, err := db.conversations(ctx)
		if err != nil {
			return err
		}
		for _, c := range all {
			if c.createdMS < since.UnixMilli() || c.parent != "" || !process.SameDir(c.directory, dir) {
				continue
			}
			first, err := db.firstPrompt(ctx, c.id)
			if err != nil {
				return err
			}
			if agent.Said(first, prompt) {
				ids = append(ids, c.id)
			}
		}
		return nil
	})
	return ids, err
}

// firstPrompt returns what a session was told first.
func (db *database) firstPrompt(ctx context.Context, session string) (string, error) {
	first, err := db.messages(ctx, "WHERE session_id = ? ORDER BY 4, 2 LIMIT 1", session)
	if err != nil || len(first) == 0 {
		return "", err
	}
	parts, err := db.parts(ctx, "m.id = ?", first[0].id)
	at := slices.IndexFunc(parts, func(p part) bool { return p.Type == "text" && !p.Synthetic })
	if err != nil || at < 0 {
		return "", err
	}
	return parts[at].Text, nil
}

// Resume leaves out what the session was given when it began.
func (i invocation) Resume(t agent.Trail, prompt string) []string {
	return slices.Concat(i.before.Options(), []string{"run"},
		i.options.Options("-s", "--session", "-c", "--continue", "--fork", "--share", "--title", "-f", "--file", "--command"),
		[]string{"--session", t.Session}, words(prompt))
}
