package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/program"
)

// maxForebears bounds how far up a process's forebears are looked at.
const maxForebears = 8

// Wrapper returns the program by which the agent was started and that still stands
// before it, with its arguments up to the agent's own: a sandbox, a script that is
// called as the agent is, whatever the user put there; and the arguments that it
// was given for the agent. It is nil where the agent was started as such.
//
// It stands in the same terminal, or the agent has none: what is in another one
// only shows the agent.
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
			through, given = before, rest // one further up stands before it
		}
		child = stat
	}
	return through, given
}

// throughOf returns what the command line of a forebear begins with, where the
// rest of it is the agent's name and these arguments: a script may add some of its
// own, another program hands them on as they are.
func (t Table) throughOf(pid int, args []string, called string) (through, given []string) {
	argv, exe := t.Argv(pid), t.Executable(pid)
	at := len(argv) - len(args) - 1
	switch name := strings.TrimRight(filepath.Base(exe), "0123456789."); {
	case len(argv) < 2 || name == "resumed": // it is no part of what a person started
		return nil, nil
	case slices.Contains(scripting, name): // a script that is called as the agent is
		script := t.seenFrom(pid, argv[1])
		if filepath.Base(script) != called || !program.IsExecutable(script) || !containsAll(args, argv[2:]) {
			return nil, nil
		}
		return []string{script}, argv[2:]
	case runsOthers(exe): // node runs the agent itself, and in a shell it was typed
		return nil, nil
	case at < 1 || filepath.Base(argv[at]) != called || !slices.Equal(argv[at+1:], args):
		return nil, nil // at 0 it is the agent itself, which has begun itself anew
	case strings.ContainsAny(argv[at], " \t\n"): // a line for a shell, which ends as the name does
		return nil, nil
	}
	if file := t.seenFrom(pid, argv[at]); exists(file) && !program.IsExecutable(file) {
		return nil, nil // a directory or a text of that name
	}
	through = slices.Clone(argv[:at+1])
	if filepath.IsAbs(exe) {
		through[0] = exe
	}
	return through, args
}

// seenFrom returns the path that a process means.
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

// scripting are the interpreters of scripts that people put before a program.
var scripting = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "python", "perl", "ruby"}
