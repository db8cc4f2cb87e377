package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/program"
	"resumed/internal/resume"
)

// Program returns what a process runs, so that it can be run again: the agent's
// own binary, or the script of an interpreter. is tells whether a path is the
// agent's. A file that was replaced or removed since the process began, one of
// another user's process, and whatever only started the agent, are not it.
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
	if is(argv[0]) { // it has given itself a title, and its arguments are lost
		script = t.Variable(pid, "_") // what a shell started it by
	}
	if !filepath.IsAbs(script) && strings.ContainsRune(script, filepath.Separator) {
		script = filepath.Join(t.Cwd(pid), script) // not known: the path stays relative
	}
	info, err := os.Stat(script)
	found := is(script) && filepath.IsAbs(script) && err == nil && info.Mode().IsRegular()
	return resume.Program{Path: script, Interpreter: exe}, found
}

// liesBelow reports whether a file lies in a directory that is called as the
// program is, as a file that is named after its version does. What a process
// calls itself proves nothing: any program can be started by any name.
func liesBelow(exe, name string) bool {
	name = filepath.Base(strings.TrimSpace(name))
	return slices.Contains(strings.Split(filepath.Dir(exe), string(filepath.Separator)), name)
}

// executable returns the file that a process of our own user runs, where it is
// still that very file.
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
	// The kernel adds a word to the name of a file that is gone; a container
	// has a file of its own by that name.
	link := t.Path(pid, "exe")
	name, _ := os.Readlink(link)
	runs, runsErr := os.Stat(link)
	there, thereErr := os.Stat(path)
	return path, name == path && runsErr == nil && thereErr == nil && os.SameFile(runs, there)
}

// runsOthers reports whether a program is one by which others are run: what it
// runs is not itself.
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

// scriptOf returns what an interpreter of these arguments runs.
func scriptOf(argv []string) string {
	args := withoutInterpreter(argv)
	if len(args) == len(argv) { // not one of JavaScript
		args = argv[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return ""
	}
	return args[0]
}
