package claude

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// lives reports whether the process that began at start is alive; an empty
// start is any process of that pid. Where the kernel does not tell, a process is
// known by its pid alone.
func (a *Agent) lives(pid int, start string) bool {
	if !a.Processes.Seen() {
		return agent.Answers(pid)
	}
	stat, err := a.Processes.Stat(pid)
	return err == nil && stat.Living() && (start == "" || start == strconv.FormatUint(stat.Start, 10))
}

// isSession reports whether a process of these arguments is a session of Claude
// Code. Old versions are node under a title of their own: nothing but "claude".
func isSession(argv []string) bool {
	program, args := argv[0], argv[1:]
	if base := filepath.Base(program); (base == "node" || base == "bun") && len(args) > 0 {
		program, args = args[0], args[1:]
	}
	serves := len(args) > 0 && (args[0] == "daemon" || args[0] == "mcp") // others, and holds no session
	return isClaude(program) && !serves
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
		return resume.Headless
	}
	return resume.Interactive
}

// kindBy says by the way in which Claude Code was entered whether a person sits
// before it, or nothing: programs that speak through a kit of its own are editors
// as well as scripts. What the registry calls kind is interactive for -p too.
func kindBy(entrypoint string) string {
	switch entrypoint {
	case "cli":
		return resume.Interactive
	case "sdk-cli":
		return resume.Headless
	default:
		return ""
	}
}
