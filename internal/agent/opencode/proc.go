package opencode

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/process"
)

// lives reports whether the process is of the agent and alive. Where the kernel
// does not tell what it is, being alive has to do.
func (a *Agent) lives(ctx context.Context, pid int) bool {
	if !a.Processes.Seen() && !process.Answers(pid) {
		return false
	}
	running, err := a.Processes.Running(ctx, a.brand.isProgram)
	if err != nil {
		return true // not known: it is not taken for dead
	}
	return slices.ContainsFunc(running, func(p process.Live) bool { return p.PID == pid })
}

// openDatabases returns the databases that the process has open, or why nobody knows.
func (a *Agent) openDatabases(ctx context.Context, pid int) ([]string, error) {
	open, err := a.Processes.OpenFiles(ctx, pid)
	var found []string
	for _, file := range open {
		if strings.HasSuffix(file.Name, ".db") {
			found = append(found, file.Name)
		}
	}
	return found, err
}

// places returns the directories that the process may work in: its own, the one
// its environment names, which opencode trusts more, and those of its arguments.
func places(p process.Live) []string {
	var all []string
	if pwd := p.Variable("PWD"); pwd != "" {
		all = append(all, pwd)
	}
	for _, dir := range append(named(p.Args, "--dir", "--cwd"), projectOf(p.Args)...) {
		if !filepath.IsAbs(dir) && p.Cwd != "" {
			dir = filepath.Join(p.Cwd, dir)
		}
		all = append(all, dir)
	}
	return all
}
