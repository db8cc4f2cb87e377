// Package processes finds the processes of opencode, and which sessions they may hold by their command lines.
package processes

import (
	"cmp"
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/leash"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Flags are those of the terminal interface, run, serve, web, attach and acp, from 1.2 to 1.18, including hidden
// ones, and those of version 2 that choose a server. A session is continued by run, which refuses unknown flags:
// all carried flags are known to it.
var Flags = leash.Flags{
	{Effect: leash.Restricts, Takes: leash.Switch, Names: `--pure`},
	{Effect: leash.Grants, Takes: leash.Switch, Names: `--auto --yolo --dangerously-skip-permissions`},
	{Effect: leash.Selects, Takes: leash.Maybe, Names: `-m --model --agent --variant`},
	{Effect: leash.Nothing, Takes: leash.Maybe | leash.Path, Names: `--dir --cwd`}, // the session has its own
	{Effect: leash.Nothing, Takes: leash.Maybe, Names: `--format --log-level --replay-limit`},
	{Effect: leash.Nothing, Takes: leash.Switch, Names: `--thinking --print-logs --replay --no-replay --service --standalone -h --help -v --version`},
	{Effect: leash.Once, Takes: leash.Switch, Names: `-c --continue --fork --cloud-fork --share --demo`},
	{Effect: leash.Once, Takes: leash.Maybe, Names: `-s --session --title --prompt --command --worktree`},
	{Effect: leash.Once, Takes: leash.Many, Names: `-f --file`},
	{Effect: leash.Attended, Takes: leash.Switch, Names: `-i --interactive --mini --mdns`},
	{Effect: leash.Attended, Takes: leash.Maybe, Names: `--port --hostname --mdns-domain --attach --server -u --username`},
	{Effect: leash.Attended, Takes: leash.Many, Names: `--cors`},
	{Effect: leash.Attended, Takes: leash.Maybe | leash.Secret, Names: `-p --password`},
}

// Command returns the subcommand, or the directory argument of the terminal interface; empty: neither.
func Command(args []string) string {
	_, command, _ := Flags.Parse(args).Cut()
	return command
}

// IsServer reports whether a process with these arguments is a server.
func IsServer(args []string) bool {
	return slices.Contains([]string{"serve", "web", "acp"}, Command(args))
}

// AttachedTo returns the server whose sessions a process with these arguments only shows; empty: it has its own.
func AttachedTo(args []string) string {
	all := Flags.Parse(args)
	_, command, after := all.Cut()
	switch plain := after.Plain(); {
	case command == "attach" && len(plain) > 0:
		return plain[0]
	case command == "run" && after.Has("--attach"):
		return after.Value("--attach")
	default:
		return all.Value("--server")
	}
}

func kindOf(args []string) string {
	switch Command(args) {
	case "run", "serve", "web", "acp", "github", "pr":
		return "headless"
	default:
		return "interactive"
	}
}

var sessionless = []string{
	"agent", "auth", "completion", "db", "debug", "export", "import", "login", "logout", "mcp", "models",
	"plugin", "providers", "session", "stats", "uninstall", "upgrade",
	"cloud", "config", "daemon", "help", "profile", "roll-call", "worktree", // of Kilo
}

// directories returns those that the process may work in: PWD, which opencode prefers to the actual working
// directory, and those in its arguments.
func directories(p process.Live) []string {
	dirs := Flags.Parse(p.Args).Values("--dir", "--cwd")
	if command := Command(p.Args); strings.ContainsAny(command, "/.") {
		dirs = append(dirs, command)
	}
	for i, dir := range dirs {
		if !filepath.IsAbs(dir) && p.Cwd != "" {
			dirs[i] = filepath.Join(p.Cwd, dir)
		}
	}
	if pwd := p.Variable("PWD"); pwd != "" {
		dirs = append(dirs, pwd)
	}
	return dirs
}

// Finder finds processes of opencode, or of a fork.
type Finder struct {
	process.Table
	Is func(path string) bool // reports whether a path is the program's

	// Registered returns the processes that are registered as background servers of version 2; each
	// holds all sessions of its database, and terminals only show them.
	Registered func() []int
}

// Owner returns a live process that may hold the session. opencode takes no lock and does not record which session a
// process holds, so any process in the session's directory counts: two processes on one session would both write.
func (f Finder) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	holders, err := f.Holders(ctx, s)
	working := slices.DeleteFunc(slices.Clone(holders), func(p process.Live) bool { return AttachedTo(p.Args) != "" })
	if len(working) > 0 {
		holders = working // a process that only shows a server's sessions holds none
	}
	return process.OneOf(holders, s, func(p process.Live) string { return kindOf(p.Args) }), err
}

// Holders returns the processes that may hold the session, except our own. A server may hold sessions of any
// directory. It counts if no other process does, unless the session's own process or permissions exclude it.
func (f Finder) Holders(ctx context.Context, s resume.Session) ([]process.Live, error) {
	ctx = process.WithSnapshot(ctx)
	running, err := f.Running(ctx, f.Is)
	if err != nil || len(running) == 0 {
		return nil, err
	}
	place := process.PlaceOf(s.Cwd)
	near := func(p process.Live) bool { return !p.CannotHold(s, kindOf(p.Args)) && f.mayHold(ctx, p, s, place) }
	if server, ok := f.background(ctx, running, s); ok {
		own := slices.DeleteFunc(running, func(p process.Live) bool {
			return p.PID == server.PID || !near(p) || !f.isOwnServer(ctx, p)
		})
		return append(own, server), nil
	}
	if slices.ContainsFunc(running, near) {
		return slices.DeleteFunc(running, func(p process.Live) bool { return !near(p) }), nil
	}
	if o := s.StartedWith(); o == nil && s.Kind != resume.Interactive || o != nil && !o.Server {
		return nil, nil
	}
	return slices.DeleteFunc(running, func(p process.Live) bool {
		open, err := f.openDatabases(ctx, p.PID)
		return !IsServer(p.Args) || p.Mark != "" || err == nil && !containsFile(open, s.Transcript)
	}), nil
}

func (f Finder) background(ctx context.Context, running []process.Live, s resume.Session) (process.Live, bool) {
	pids := f.Registered()
	for _, p := range running {
		if !slices.Contains(pids, p.PID) || !IsServer(p.Args) {
			continue
		}
		if open, err := f.openDatabases(ctx, p.PID); err != nil || containsFile(open, s.Transcript) {
			return p, true
		}
	}
	return process.Live{}, false
}

// isOwnServer reports whether a process works on its sessions itself, although there is a background server.
func (f Finder) isOwnServer(ctx context.Context, p process.Live) bool {
	open, _ := f.openDatabases(ctx, p.PID) // a process that only shows sessions opens none
	return len(open) > 0 || Flags.Parse(p.Args).Has("--standalone")
}

func (f Finder) mayHold(ctx context.Context, p process.Live, s resume.Session, place process.Dir) bool {
	if slices.Contains(sessionless, Command(p.Args)) {
		return false
	}
	// A process with another database open has other sessions. One without any is just starting.
	if open, _ := f.openDatabases(ctx, p.PID); len(open) > 0 && s.Transcript != "" && !containsFile(open, s.Transcript) {
		return false
	}
	return slices.Contains(Flags.Parse(p.Args).Values("-s", "--session"), s.Key.ID) || p.LivesIn(place) ||
		slices.ContainsFunc(directories(p), func(dir string) bool { return place.Is(process.PlaceOf(dir)) })
}

// openDatabases returns the databases that the process has open, or why that is not known.
func (f Finder) openDatabases(ctx context.Context, pid int) ([]string, error) {
	open, err := f.OpenFiles(ctx, pid)
	var found []string
	for _, file := range open {
		if strings.HasSuffix(file.Name, ".db") {
			found = append(found, file.Name)
		}
	}
	return found, err
}

func containsFile(files []string, path string) bool {
	return slices.ContainsFunc(files, func(file string) bool { return process.SameDir(file, path) })
}

// ServerAt returns the process that listens at an address; 0: none is known.
func (f Finder) ServerAt(address string) int {
	running, _ := f.Running(context.Background(), f.Is)
	for _, p := range running {
		if AttachedTo(p.Args) == "" && f.listensAt(p.PID, address) {
			return p.PID
		}
	}
	return 0
}

func (f Finder) listensAt(pid int, address string) bool {
	u, err := url.Parse(address)
	usual := map[string]string{"http": "80", "https": "443"}
	return err == nil && slices.Contains(f.Listening(pid), cmp.Or(u.Port(), usual[u.Scheme]))
}
