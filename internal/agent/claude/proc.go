package claude

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// lives reports whether the process that began at start is alive; an empty
// start is any process of that pid. Where the kernel does not tell, a process is
// known by its pid alone.
func (a *Agent) lives(pid int, start string) bool {
	if !a.Processes.Exists() {
		err := syscall.Kill(pid, 0)
		return err == nil || errors.Is(err, syscall.EPERM)
	}
	stat, err := a.Processes.Stat(pid)
	return err == nil && stat.Living() && (start == "" || start == strconv.FormatUint(stat.Start, 10))
}

// claude returns the arguments of a process that is a session of Claude Code.
// Old versions are node under a title of their own: nothing but "claude".
func (a *Agent) claude(pid int) ([]string, bool) {
	argv := a.Processes.Argv(pid)
	if len(argv) == 0 {
		return nil, false
	}
	program, args := argv[0], argv[1:]
	if base := filepath.Base(program); (base == "node" || base == "bun") && len(args) > 0 {
		program, args = args[0], args[1:]
	}
	if !isClaude(program) {
		return nil, false
	}
	if !a.lives(pid, "") {
		return nil, false
	}
	if len(args) > 0 && (args[0] == "daemon" || args[0] == "mcp") {
		return nil, false // serves others, holds no session
	}
	return argv, true
}

func isClaude(program string) bool {
	switch filepath.Base(strings.TrimSpace(program)) {
	case "claude", "claude.exe":
		return true
	case "cli.js":
		return strings.Contains(program, "claude-code")
	}
	return false
}

// kindOf says whether a person sits before a process of these arguments.
func kindOf(argv []string) string {
	if slices.Contains(argv, "-p") || slices.Contains(argv, "--print") {
		return "headless"
	}
	return "interactive"
}
