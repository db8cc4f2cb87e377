package holders

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/process"
	"resumed/internal/resume"
)

// lives reports whether the process that began at start is alive; an empty
// start is any process of that pid. Where there is no /proc, whose measure of time the
// registry has, a process is known by its pid and its program.
func (h *Holders) lives(pid int, start string) bool {
	if !h.of.Processes.Seen() {
		argv := h.of.Processes.Argv(pid)
		return process.Answers(pid) && (len(argv) == 0 || process.Runs(argv, IsClaude))
	}
	stat, err := h.of.Processes.Stat(pid)
	return err == nil && stat.Living() && (start == "" || start == strconv.FormatUint(stat.Start, 10))
}

// serves reports whether a process of these arguments works for others, and holds no
// session.
func serves(args []string) bool {
	return len(args) > 0 && (args[0] == "daemon" || args[0] == "mcp")
}

// IsClaude reports whether a path is that of Claude Code. Old versions are node under
// a title of their own: nothing but "claude".
func IsClaude(program string) bool {
	switch filepath.Base(strings.TrimSpace(program)) {
	case "claude", "claude.exe":
		return true
	case "cli.js":
		return strings.Contains(program, "claude-code")
	}
	return false
}

// kindOf says whether a person sits before a process of these arguments.
func kindOf(args []string) string {
	if slices.Contains(args, "-p") || slices.Contains(args, "--print") {
		return resume.Headless
	}
	return resume.Interactive
}
