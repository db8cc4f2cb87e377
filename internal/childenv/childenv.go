// Package childenv makes the environment of processes that the daemon starts.
package childenv

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/resume"
)

// private are variables for communication between a service manager and the daemon. A child
// that used them would be taken for the daemon.
var private = []string{
	"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
	"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
	"JOURNAL_STREAM", "INVOCATION_ID", "SYSTEMD_EXEC_PID", "MANAGERPID", "MAINPID", "FDSTORE",
	"MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE",
	"CREDENTIALS_DIRECTORY",
}

// places are directories of the daemon. A helper may use them; an agent has its own.
var places = []string{
	"STATE_DIRECTORY", "RUNTIME_DIRECTORY", "CACHE_DIRECTORY", "LOGS_DIRECTORY", "CONFIGURATION_DIRECTORY",
	"PWD", "OLDPWD",
}

// OfDaemon reports whether a variable concerns the process that it was given to, such as a daemon, and
// not what that process starts.
func OfDaemon(name string) bool {
	return strings.HasPrefix(name, "RESUMED_") || slices.Contains(private, name) || slices.Contains(places, name)
}

// Helper returns the environment of a program that works for the daemon, such as one that sends
// notices: the daemon's own, with additions.
func Helper(own []string, add ...string) []string {
	return append(Without(own, private...), add...)
}

// Agent returns the environment of an agent in dir: the daemon's own without what concerns the
// daemon, with additions and the mark, by which a later daemon finds the agent; an empty mark is
// none. No name is there twice: systemd would refuse to start such a unit.
func Agent(own []string, dir, mark string, add ...string) []string {
	env := slices.DeleteFunc(slices.Clone(own), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return OfDaemon(name)
	})
	env = append(env, Without(add, resume.MarkVariable)...)
	env = append(env, "PWD="+dir)
	if mark != "" {
		env = append(env, resume.MarkVariable+"="+mark)
	}
	last := make(map[string]int, len(env))
	for i, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		last[name] = i
	}
	kept := slices.Sorted(maps.Values(last))
	for i, at := range kept {
		env[i] = env[at]
	}
	return env[:len(kept)]
}

// Without returns an environment without the variables of these names.
func Without(env []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// Value returns a variable as the child will see it: the last entry counts.
func Value(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// Names returns the names of the variables of an environment.
func Names(env []string) []string {
	names := make([]string, len(env))
	for i, entry := range env {
		names[i], _, _ = strings.Cut(entry, "=")
	}
	return names
}

// WithPath adds to PATH of env the directories of PATH in needed, if both have one. Directories
// that are neither in env nor the daemon's own come before or after the others, as in needed.
func WithPath(own, env, needed []string) []string {
	const name = "PATH"
	had, needs := Value(env, name), Value(needed, name)
	if had == "" || needs == "" {
		return env
	}
	ours, theirs := filepath.SplitList(Value(own, name)), filepath.SplitList(had)
	var before, after []string
	passed := false // the daemon's own directories
	for _, dir := range filepath.SplitList(needs) {
		switch passed = passed || len(ours) > 0 && dir == ours[0]; {
		case slices.Contains(theirs, dir) || slices.Contains(ours, dir):
		case passed:
			after = append(after, dir)
		default:
			before = append(before, dir)
		}
	}
	path := strings.Join(slices.Concat(before, theirs, after), string(filepath.ListSeparator))
	return append(Without(env, name), name+"="+path)
}
