package opencode

import (
	"context"
	"slices"
	"strings"

	"resumed/internal/process"
	"resumed/internal/resume"
)

// Owner returns a live process that may hold the session. opencode takes no
// lock and says nowhere which session a process holds, so one that lives in the
// session's directory is enough: two processes on one session both write.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	holders, err := a.holders(ctx, s)
	working := slices.DeleteFunc(slices.Clone(holders), func(p process.Live) bool { return attachedTo(p.Args) != "" })
	if len(working) > 0 {
		holders = working // what shows a server's sessions holds none
	}
	return process.OneOf(holders, s, func(p process.Live) string { return kindOf(p.Args) }), err
}

// holders returns the processes that may hold the session and are not ours. A
// server may hold those of any directory: it does where nobody else does, and
// neither its own process nor its permissions say that it is another's.
func (a *Agent) holders(ctx context.Context, s resume.Session) ([]process.Live, error) {
	ctx = process.Together(ctx)
	running, err := a.Processes.Running(ctx, a.brand.isProgram)
	if err != nil || len(running) == 0 {
		return nil, err
	}
	place := process.PlaceOf(s.Cwd)
	near := func(p process.Live) bool { return !p.Bystands(s, kindOf(p.Args)) && a.mayHold(ctx, p, s, place) }
	if slices.ContainsFunc(running, near) {
		return slices.DeleteFunc(running, func(p process.Live) bool { return !near(p) }), nil
	}
	if o := s.StartedWith(); o == nil && s.Kind != resume.Interactive || o != nil && !o.Server {
		return nil, nil
	}
	return slices.DeleteFunc(running, func(p process.Live) bool {
		open, err := a.openDatabases(ctx, p.PID)
		return !isServer(p.Args) || p.Mark != "" || err == nil && !holdsOneOf(open, s.Transcript)
	}), nil
}

// mayHold reports whether a process of opencode may hold the session.
func (a *Agent) mayHold(ctx context.Context, p process.Live, s resume.Session, place process.Place) bool {
	if bystander(p.Args) {
		return false
	}
	// One that has another database open has other sessions. One that has none
	// is only just starting.
	if open, _ := a.openDatabases(ctx, p.PID); len(open) > 0 && s.Transcript != "" && !holdsOneOf(open, s.Transcript) {
		return false
	}
	return slices.Contains(named(p.Args, "-s", "--session"), s.Key.ID) || p.LivesIn(place) ||
		slices.ContainsFunc(places(p), func(other string) bool { return place.Is(process.PlaceOf(other)) })
}

func holdsOneOf(open []string, path string) bool {
	return slices.ContainsFunc(open, func(p string) bool { return process.SameDir(p, path) })
}

// bystanders are commands that hold no session.
var bystanders = []string{
	"agent", "auth", "completion", "db", "debug", "export", "import", "login", "logout", "mcp", "models",
	"plugin", "providers", "session", "stats", "uninstall", "upgrade",
	"cloud", "config", "daemon", "help", "profile", "roll-call", "worktree", // of Kilo
}

func bystander(args []string) bool { return slices.Contains(bystanders, command(args)) }

// command returns the first argument that is no option; empty: there is none.
func command(args []string) string {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			return arg
		}
	}
	return ""
}

// named returns the values of options, as --name value and --name=value.
func named(args []string, names ...string) []string {
	var values []string
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		switch {
		case !slices.Contains(names, name):
		case joined:
			values = append(values, value)
		case i+1 < len(args):
			values = append(values, args[i+1])
		}
	}
	return values
}

// projectOf returns the directory that the terminal interface was started for.
func projectOf(args []string) []string {
	if word := command(args); strings.ContainsAny(word, "/.") {
		return []string{word}
	}
	return nil
}

// kindOf says whether a person sits before a process of these arguments.
func kindOf(args []string) string {
	switch command(args) {
	case "run", "serve", "web", "acp", "github", "pr":
		return "headless"
	default:
		return "interactive"
	}
}
