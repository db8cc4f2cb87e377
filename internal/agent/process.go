package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Processes is where the kernel tells of processes: /proc. Where there is no
// such directory, no process is found.
type Processes string

// Process is a living program.
type Process struct {
	PID  int
	Args []string // of the program itself, without an interpreter's
	Ours bool     // it was started to resume a session, or by one that was
	Pane string   // of tmux, where it lives in one

	cwd string
}

// Running returns the living processes of a program, run by itself or by an
// interpreter of JavaScript. is tells whether a path is the program's.
func (p Processes) Running(ctx context.Context, is func(program string) bool) ([]Process, error) {
	entries, err := os.ReadDir(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []Process
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if process, ok := p.read(pid, is); ok {
			found = append(found, process)
		}
	}
	return found, nil
}

// read returns the process where it is one of the program. One that has ended,
// or is another user's, tells nothing.
func (p Processes) read(pid int, is func(string) bool) (Process, bool) {
	dir := filepath.Join(string(p), strconv.Itoa(pid))
	cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil || len(cmdline) == 0 {
		return Process{}, false
	}
	argv := withoutInterpreter(strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00"))
	if len(argv) == 0 || !is(argv[0]) {
		return Process{}, false
	}
	process := Process{PID: pid, Args: argv[1:]}
	process.cwd, _ = os.Readlink(filepath.Join(dir, "cwd"))  // not known: it lives nowhere
	environ, _ := os.ReadFile(filepath.Join(dir, "environ")) // not known: it is not ours
	for pair := range bytes.SplitSeq(environ, []byte{0}) {
		switch key, value, _ := strings.Cut(string(pair), "="); key {
		case MarkVariable:
			process.Ours = value != ""
		case "TMUX_PANE":
			process.Pane = value
		}
	}
	return process, true
}

// LivesIn reports whether the process works in the directory, by whatever name.
func (p Process) LivesIn(dir string) bool {
	if dir == "" || p.cwd == "" {
		return false
	}
	if p.cwd == filepath.Clean(dir) {
		return true
	}
	target, err := filepath.EvalSymlinks(dir)
	return err == nil && p.cwd == target
}

// Names reports whether an argument of the process is that word, or gives it as
// an option's value.
func (p Process) Names(word string) bool {
	return slices.ContainsFunc(p.Args, func(arg string) bool { return arg == word || strings.HasSuffix(arg, "="+word) })
}

// Kind says whether a person sits before the process: one that was given its
// prompt by such an option ends by itself.
func (p Process) Kind(promptOptions ...string) string {
	for _, arg := range p.Args {
		name, _, _ := strings.Cut(arg, "=")
		if slices.Contains(promptOptions, name) {
			return "headless"
		}
	}
	return "interactive"
}

// interpreterValues are the options of node whose value is an argument of its own.
var interpreterValues = []string{"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file"}

// withoutInterpreter returns what an interpreter runs, and its arguments.
func withoutInterpreter(argv []string) []string {
	switch filepath.Base(argv[0]) {
	case "node", "nodejs", "bun":
	default:
		return argv
	}
	args := argv[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		skip := 1
		if slices.Contains(interpreterValues, args[0]) {
			skip = 2
		}
		args = args[min(skip, len(args)):]
	}
	return args
}
