package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/program"
	"resumed/internal/resume"
)

// Program returns the program of a process, so that it can be run again: the agent's own binary,
// or the script of an interpreter. is reports whether a path is the agent's. It returns false for a
// file that was replaced or removed since the start, for another user's process, and for a
// program that only started the agent.
func (t Table) Program(pid int, is func(path string) bool) (resume.Program, bool) {
	exe, ok := t.executable(pid)
	if !ok {
		return resume.Program{}, false
	}
	argv := t.Argv(pid)
	if len(argv) == 0 {
		return resume.Program{}, false
	}
	if !runsOthers(exe) {
		return resume.Program{Path: exe}, is(exe) || is(argv[0]) && liesBelow(exe, argv[0])
	}
	script := scriptOf(argv)
	if is(argv[0]) { // it overwrote its arguments with a title
		script = t.Variable(pid, "_") // a shell puts the path of the command there
	}
	if !filepath.IsAbs(script) && strings.ContainsRune(script, filepath.Separator) {
		script = filepath.Join(t.Cwd(pid), script) // stays relative if the directory is not known
	}
	info, err := os.Stat(script)
	found := is(script) && filepath.IsAbs(script) && err == nil && info.Mode().IsRegular()
	return resume.Program{Path: script, Interpreter: exe}, found
}

// liesBelow reports whether a file is below a directory that has the program's name, as a file
// named after its version is. The name of a process alone proves nothing: a program can be
// started under any name.
func liesBelow(exe, name string) bool {
	name = filepath.Base(strings.TrimSpace(name))
	return slices.Contains(strings.Split(filepath.Dir(exe), string(filepath.Separator)), name)
}

// executable returns the file that a process of our own user runs, if that is still the same
// file.
func (t Table) executable(pid int) (string, bool) {
	if !t.Own(pid) {
		return "", false
	}
	path := t.Executable(pid)
	if !filepath.IsAbs(path) || !program.IsExecutable(path) {
		return "", false
	}
	if !t.Seen() {
		return path, true
	}
	// The kernel appends "(deleted)" to the name of a removed file; in a container the same
	// name is another file.
	link := t.Path(pid, "exe")
	name, _ := os.Readlink(link)
	runs, runsErr := os.Stat(link)
	there, thereErr := os.Stat(path)
	return path, name == path && runsErr == nil && thereErr == nil && os.SameFile(runs, there)
}

// runsOthers reports whether a program is one that runs others, such as an interpreter.
func runsOthers(exe string) bool {
	name := strings.TrimRight(filepath.Base(exe), "0123456789.-")
	switch name {
	case "node", "nodejs", "bun", "deno", "python", "ruby", "perl",
		"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox",
		"tmux", "tmux: server", "screen", "env", "sudo", "su", "npm", "npx":
		return true
	}
	return false
}

// scriptOf returns the script in the arguments of an interpreter.
func scriptOf(argv []string) string {
	args := withoutInterpreter(argv)
	if len(args) == len(argv) { // not an interpreter of JavaScript
		args = argv[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return ""
	}
	return args[0]
}
