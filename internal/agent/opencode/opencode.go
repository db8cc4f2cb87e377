// Package opencode supports opencode and its fork Kilo: where their databases are, how they are watched, and
// how a session is continued. Subpackages handle rows and processes.
package opencode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/agent/opencode/processes"
	"resumed/internal/childenv"
	"resumed/internal/dirs"
	"resumed/internal/lazy"
	"resumed/internal/leash"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Builtin and Kilo are the entries in the list of agents.
var (
	Builtin = openCode.builtin()
	Kilo    = kilo.builtin()
)

// Agent is opencode, or a fork, with its databases. Its roots are data directories; the default is that of
// $OPENCODE_DB, else $XDG_DATA_HOME/opencode, and the same for Kilo.
type Agent struct {
	agent.Base
	brand  *brand
	homes  agent.Homes // data directories, each one an account
	only   string      // the name of the only database of the usual home; empty: those of all release channels
	state  string      // the directory in which version 2 registers its server
	rescan time.Duration
	deaf   bool // act as on a file system without events, for tests

	mu   sync.Mutex                                       // guards what Follow does, and look
	look func(ctx context.Context, database string) error // reads what is new; nil: Follow does not run
}

var _ agent.DatabaseAgent = (*Agent)(nil)

func (b *brand) builtin() agent.Builtin {
	return agent.Builtin{
		Name:            b.name,
		Title:           b.title,
		Headless:        b.program + " run",
		Variables:       []string{b.variable("DB")},
		CommandVariable: b.prefix,
		Remedies:        b.hands,
		New:             func(o agent.Options) (agent.Agent, error) { return b.make(o) },
		Plugin: &agent.Plugin{
			Install: fmt.Sprintf("mkdir -p ~/.config/%[1]s/plugin && cp DIR/plugins/opencode/resumed.js ~/.config/%[1]s/plugin/", b.program),
			Version: b.pluginVersion,
		},
	}
}

// rescan is the time between two regular surveys, for file systems without events.
const rescan = time.Minute

// make returns the agent. It reads the environment, but no file.
func (b *brand) make(o agent.Options) (*Agent, error) {
	a := &Agent{
		Base: agent.NewBase(agent.About{
			Name: b.name, Program: b.program, Is: b.isProgram, ByHand: "--session", Flags: processes.Flags, Variables: b.variables(), Settings: b.settingsFiles(), Places: b.places,
		}, o),
		brand:  b,
		state:  filepath.Join(dirs.XDG(os.Getenv, "XDG_STATE_HOME", ".local/state"), b.program),
		rescan: rescan,
	}
	usual := filepath.Join(dirs.XDG(os.Getenv, "XDG_DATA_HOME", ".local/share"), b.program)
	if path := os.Getenv(b.variable("DB")); path != "" && path != ":memory:" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(usual, path)
		}
		usual, a.only = filepath.Dir(path), filepath.Base(path)
	}
	if !filepath.IsAbs(usual) {
		usual, a.only = "", ""
	}
	var err error
	a.homes, err = agent.NewHomes(b.name, usual, o.Roots)
	return a, err
}

// has reports whether a file name is that of a database of the data directory.
func (a *Agent) has(dir, name string) bool {
	if dir == a.homes.Usual && a.only != "" {
		return name == a.only
	}
	return a.brand.isDatabase(name)
}

func (a *Agent) watches(path string) bool {
	dir := filepath.Dir(path)
	return slices.Contains(a.homes.Roots, dir) && a.has(dir, filepath.Base(path))
}

func (a *Agent) databases(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	var paths []string
	for _, entry := range entries {
		if a.has(dir, entry.Name()) && !entry.IsDir() {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths, nil
}

// reader returns the reader of a database. One from elsewhere is read as if it were in the first home.
func (a *Agent) reader(path string) database.Reader {
	home := filepath.Dir(path)
	if !a.watches(path) {
		home = a.homes.Roots[0]
	}
	return database.Reader{Path: path, Agent: a.brand.name, Account: a.homes.Account(home), Limits: a.Limits, AtWord: a.brand.untried()}
}

// registered returns the pids of the registered background servers of version 2, one a release channel. They may be
// gone.
func (a *Agent) registered() (pids []int) {
	files, _ := filepath.Glob(filepath.Join(a.state, "service*.json")) // the pattern is valid
	for _, file := range files {
		var server struct {
			PID int `json:"pid"`
		}
		if agent.ReadJSON(file, &server) && server.PID > 0 {
			pids = append(pids, server.PID)
		}
	}
	return pids
}

func (a *Agent) finder() processes.Finder {
	return processes.Finder{Table: a.Processes, Is: a.brand.isProgram, Registered: a.registered}
}

// Owner returns a live process that may hold the session.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	return a.finder().Owner(ctx, s)
}

// ContextSize returns the size of the context that the last answer of the session states.
func (a *Agent) ContextSize(ctx context.Context, s resume.Session) (size resume.Context, known bool, err error) {
	err = database.Read(ctx, s.Transcript, func(db *database.DB) (err error) {
		size, known, err = db.Context(ctx, s.Key.ID)
		return err
	})
	return size, known, err
}

const readTimeout = time.Minute

// Subagents returns the child sessions that were stopped since the session began its current work.
func (a *Agent) Subagents(ctx context.Context, s resume.Session) (stopped []resume.Subagent, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	err = database.Read(ctx, s.Transcript, func(db *database.DB) (err error) {
		stopped, err = db.Stopped(ctx, s.Key.ID, s.WorkSince(), a.Limits)
		return err
	})
	return stopped, err
}

// Denied returns the last refusal of a run: without a terminal it rejects all that it would have to ask for.
func (a *Agent) Denied(ctx context.Context, s resume.Session, run agent.Ran) (d agent.Denial, denied bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	err = database.ReadSteadily(ctx, s.Transcript, func(db *database.DB) (err error) {
		d, denied, err = db.Denied(ctx, s.Key.ID, run.Since.UnixMilli())
		return err
	})
	return d, denied, err
}

// Origin returns what the process, or the server whose sessions it only shows, was started with.
func (a *Agent) Origin(pid int, secrets bool) *resume.Origin {
	args := process.ProgramArgs(a.Processes.Argv(pid))
	if url := processes.AttachedTo(args); url != "" {
		if pid = a.finder().ServerAt(url); pid == 0 {
			return nil
		}
		args = process.ProgramArgs(a.Processes.Argv(pid))
	}
	table := a.Variables()
	for dir := a.Processes.Cwd(pid); len(dir) > 1; dir = filepath.Dir(dir) {
		table = append(table, agent.VariablesIn(reference(), a.brand.configsOf(dir)...))
	}
	o := a.OriginBy(table, pid, secrets)
	if o != nil {
		o.Server = processes.IsServer(args)
	}
	return o
}

// Variables are those that matter to the agent, and those that its configuration names.
func (a *Agent) Variables() leash.Variables { return append(a.Base.Variables(), a.configured()) }

// reference matches a reference to a variable in a configuration.
var reference = lazy.Regexp(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

func (a *Agent) configured() leash.Row {
	files := a.brand.configsIn(filepath.Join(dirs.Config(os.Getenv), a.brand.program), os.Getenv(a.brand.variable("CONFIG_DIR")))
	return agent.VariablesIn(reference(), append(files, os.Getenv(a.brand.variable("CONFIG")))...)
}

// spare returns which variables a session with this provider does not need; nil: not known.
func (a *Agent) spare(provider, dir string) func(string) bool {
	own, known := keysOf[provider]
	switch {
	case slices.Contains(strings.Fields(plainProviders), provider):
		own = strings.ToUpper(provider) + "_*"
	case !known:
		return nil
	}
	return agent.Optional(leash.Variables{a.configured(), agent.VariablesIn(reference(), a.brand.configsOf(dir)...), {Names: own}}, providerVariables)
}

// Identity returns the stored credential of the session's provider, which identifies the account on
// every machine: its key, or the account id of its login.
func (a *Agent) Identity(s resume.Session, environ []string) string {
	at := slices.IndexFunc(a.homes.Roots, func(root string) bool { return a.homes.Account(root) == s.Account })
	instead := childenv.Value(environ, a.brand.variable("AUTH_CONTENT")) != "" // it replaces the file
	if at < 0 || s.Provider == "" || instead {
		return ""
	}
	var stored map[string]struct {
		Type    string `json:"type"`
		Key     string `json:"key"`
		Account string `json:"accountId"`
	}
	agent.ReadJSON(filepath.Join(a.homes.Roots[at], "auth.json"), &stored)
	switch login := stored[s.Provider]; {
	case login.Type == "api" && login.Key != "":
		return "key " + login.Key
	case login.Type == "oauth" && login.Account != "":
		return "login " + login.Account
	default:
		return ""
	}
}
