// Package processes finds the processes of opencode, and derives from their command lines which sessions they may
// hold.
package processes

import (
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/leash"
	"resumed/internal/process"
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

// Command returns the subcommand of a command line, or the directory argument of the terminal interface; empty:
// neither.
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
