package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/program"
)

// maxForebears bounds how many ancestors of a process are checked.
const maxForebears = 8

// Wrapper returns the command that started the agent and still runs as its ancestor, up to and
// with the agent's name: a sandbox, a script of the agent's name, or another program of the
// user; and the arguments for the agent. It is nil if the agent was started directly.
//
// A wrapper is in the same terminal, or the agent has none: a program in another terminal only
// shows the agent.
func (t Table) Wrapper(pid int, args []string, called string) (through, given []string) {
	given = args
	child, err := t.Stat(pid)
	if err != nil {
		return nil, given
	}
	for range maxForebears {
		parent := child.Parent
		stat, err := t.Stat(parent)
		if parent <= 1 || err != nil || child.TTY != 0 && stat.TTY != child.TTY || !t.Own(parent) {
			break
		}
		if before, rest := t.throughOf(parent, given, called); before != nil {
			through, given = before, rest // the outermost wrapper counts
		}
		child = stat
	}
	return through, given
}

// throughOf returns the beginning of an ancestor's command line, if the rest is the agent's name
// and these arguments. A script may add arguments; another program passes them on unchanged.
func (t Table) throughOf(pid int, args []string, called string) (through, given []string) {
	argv, exe := t.Argv(pid), t.Executable(pid)
	at := len(argv) - len(args) - 1
	switch name := strings.TrimRight(filepath.Base(exe), "0123456789."); {
	case len(argv) < 2 || name == "resumed": // resumed is not part of what the person started
		return nil, nil
	case slices.Contains(scripting, name): // a script with the agent's name
		script := t.seenFrom(pid, argv[1])
		if filepath.Base(script) != called || !program.IsExecutable(script) || !containsAll(args, argv[2:]) {
			return nil, nil
		}
		return []string{script}, argv[2:]
	case runsOthers(exe): // node runs the agent itself, and in a shell it was typed
		return nil, nil
	case at < 1 || filepath.Base(argv[at]) != called || !slices.Equal(argv[at+1:], args):
		return nil, nil // at 0 it is the agent, which has started itself again
	case strings.ContainsAny(argv[at], " \t\n"): // a command line for a shell that ends with the name
		return nil, nil
	}
	if file := t.seenFrom(pid, argv[at]); exists(file) && !program.IsExecutable(file) {
		return nil, nil // a directory or a text file of that name
	}
	through = slices.Clone(argv[:at+1])
	if filepath.IsAbs(exe) {
		through[0] = exe
	}
	return through, args
}

// seenFrom resolves a path relative to the directory of a process.
func (t Table) seenFrom(pid int, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(t.Cwd(pid), path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(arg string) bool { return !slices.Contains(all, arg) })
}

// scripting are the interpreters of wrapper scripts.
var scripting = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "python", "perl", "ruby"}
