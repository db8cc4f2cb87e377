package opencode

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"resumed/internal/agent"
)

// procfs is where the kernel tells of processes.
type procfs string

// pids returns the processes there are; none where there is no such place.
func (p procfs) pids() ([]int, error) {
	names, err := os.ReadDir(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all, nil
}

func (p procfs) path(pid int, name string) string {
	return filepath.Join(string(p), strconv.Itoa(pid), name)
}

// alive reports whether the process will write anything more: a zombie will
// not.
func (p procfs) alive(pid int) bool {
	stat, err := os.ReadFile(p.path(pid, "stat"))
	if err != nil {
		return false
	}
	// The command's name, field 2, may hold spaces and brackets.
	state := strings.TrimSpace(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return state != "" && state[0] != 'Z' && state[0] != 'X'
}

// isOpencode reports whether the process is opencode and alive. Where the kernel
// does not tell what it is, being alive has to do.
func (p procfs) isOpencode(pid int) bool {
	if _, err := os.Stat(string(p)); err != nil {
		err := syscall.Kill(pid, 0)
		return err == nil || errors.Is(err, syscall.EPERM)
	}
	_, ok := p.opencode(pid)
	return ok
}

// opencode returns the arguments of a process that is opencode, without the
// program.
func (p procfs) opencode(pid int) ([]string, bool) {
	cmdline, err := os.ReadFile(p.path(pid, "cmdline"))
	if err != nil || len(cmdline) == 0 {
		return nil, false
	}
	argv := strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")
	program, args := argv[0], argv[1:]
	switch filepath.Base(program) {
	case "node", "bun": // a version that is run from its script
		if len(args) == 0 {
			return nil, false
		}
		program, args = args[0], args[1:]
	}
	exe, _ := os.Readlink(p.path(pid, "exe")) // its title may have been changed
	if !isProgram(program) && !isProgram(strings.TrimSuffix(exe, " (deleted)")) {
		return nil, false
	}
	return args, p.alive(pid)
}

// isProgram accepts the names that npm, the installer and packages give it.
func isProgram(path string) bool {
	base := filepath.Base(path)
	return base == "opencode" || base == "opencode.exe" || base == ".opencode"
}

// cwd returns the directory that the process works in.
func (p procfs) cwd(pid int) (string, bool) {
	cwd, err := os.Readlink(p.path(pid, "cwd"))
	return cwd, err == nil
}

// databases returns the databases that the process has open.
func (p procfs) databases(pid int) []string {
	entries, err := os.ReadDir(p.path(pid, "fd"))
	if err != nil {
		return nil
	}
	var open []string
	for _, entry := range entries {
		target, err := os.Readlink(filepath.Join(p.path(pid, "fd"), entry.Name()))
		if err == nil && strings.HasSuffix(target, ".db") {
			open = append(open, target)
		}
	}
	return open
}

// ours reports whether the process was started to resume a session.
func (p procfs) ours(pid int) bool { return p.variable(pid, agent.MarkVariable) != "" }

// variable returns a variable of the process's environment.
func (p procfs) variable(pid int, name string) string {
	environ, err := os.ReadFile(p.path(pid, "environ"))
	if err != nil {
		return ""
	}
	for pair := range bytes.SplitSeq(environ, []byte{0}) {
		if key, value, ok := strings.Cut(string(pair), "="); ok && key == name {
			return value
		}
	}
	return ""
}
