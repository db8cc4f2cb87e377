package claude

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"resumed/internal/agent"
)

// procfs is where the kernel tells of processes. Where there is none, a process
// is known by its pid alone.
type procfs struct{ agent.Processes }

// start returns when the process began, in the kernel's count. A zombie is not
// alive: it will write nothing more.
func (p procfs) start(pid int) (string, bool) {
	stat, err := os.ReadFile(p.Path(pid, "stat"))
	if err != nil {
		return "", false
	}
	// The command's name, field 2, may hold spaces and brackets.
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if end < 0 || len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", false
	}
	return fields[19], true // field 22
}

// ticksPerSecond is the unit in which the kernel counts starts; it is 100 on
// every Linux that Go runs on.
const ticksPerSecond = 100

// age returns how long ago the process began, or false where that is not known.
func (p procfs) age(pid int) (time.Duration, bool) {
	began, alive := p.start(pid)
	ticks, err := strconv.ParseFloat(began, 64)
	if !alive || err != nil {
		return 0, false
	}
	text, err := os.ReadFile(filepath.Join(string(p.Processes), "uptime"))
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	uptime, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0, false
	}
	return time.Duration((uptime - ticks/ticksPerSecond) * float64(time.Second)), true
}

// lives reports whether the process that began at start is alive; an empty
// start is any process of that pid.
func (p procfs) lives(pid int, start string) bool {
	if _, err := os.Stat(string(p.Processes)); err != nil {
		err := syscall.Kill(pid, 0)
		return err == nil || errors.Is(err, syscall.EPERM)
	}
	began, alive := p.start(pid)
	return alive && (start == "" || start == began)
}

// claude returns the arguments of a process that is a session of Claude Code.
// Old versions are node under a title of their own: nothing but "claude".
func (p procfs) claude(pid int) ([]string, bool) {
	argv := p.Argv(pid)
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
	if _, alive := p.start(pid); !alive {
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

// ours reports whether the process was started to resume some session, which
// one it does not say.
func (p procfs) ours(pid int) bool { return p.Variable(pid, agent.MarkVariable) != "" }
