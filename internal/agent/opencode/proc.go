package opencode

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
)

// isProgram accepts the names that npm, the installer and packages give it.
func isProgram(path string) bool {
	switch filepath.Base(path) {
	case "opencode", "opencode.exe", ".opencode":
		return true
	}
	return false
}

// lives reports whether the process is opencode and alive. Where the kernel
// does not tell what it is, being alive has to do.
func (a *Agent) lives(ctx context.Context, pid int) bool {
	if !a.Processes.Seen() && !agent.Answers(pid) {
		return false
	}
	running, err := a.Processes.Running(ctx, isProgram)
	if err != nil {
		return true // not known: it is not taken for dead
	}
	return slices.ContainsFunc(running, func(p agent.Process) bool { return p.PID == pid })
}

// openDatabases returns the databases that the process has open.
func (a *Agent) openDatabases(pid int) []string {
	var found []string
	for _, file := range a.Processes.Open(pid) {
		if strings.HasSuffix(file.Name, ".db") {
			found = append(found, file.Name)
		}
	}
	return found
}

// places returns the directories that the process may work in: its own, the one
// its environment names, which opencode trusts more, and those of its arguments.
func (a *Agent) places(p agent.Process) []string {
	var all []string
	cwd := a.Processes.Cwd(p.PID)
	if pwd := a.Processes.Variable(p.PID, "PWD"); pwd != "" {
		all = append(all, pwd)
	}
	for _, dir := range append(named(p.Args, "--dir", "--cwd"), projectOf(p.Args)...) {
		if !filepath.IsAbs(dir) && cwd != "" {
			dir = filepath.Join(cwd, dir)
		}
		all = append(all, dir)
	}
	return all
}
