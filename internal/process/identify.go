package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/procfs"
	"resumed/internal/program"
	"resumed/internal/resume"
	"resumed/internal/usermanager"
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

// LeadShell is the command of resumed that starts a program, by its path and name, in the terminal of a `resumed shell`.
const LeadShell = "lead-shell"

// Seems reports whether a process says that it is the program: by its file, by its name, or by the script that it
// runs. Unlike for Program, nothing of it need be certain: a caller that only seems to be an agent is no person.
func (t Table) Seems(pid int, is func(path string) bool) bool {
	argv, exe := t.Argv(pid), t.Executable(pid)
	if len(argv) == 0 { // it has ended, or is the kernel's
		return false
	}
	if filepath.Base(exe) == "resumed" && len(argv) > 3 && argv[1] == LeadShell {
		return is(argv[2]) || is(argv[3])
	}
	if len(argv) < 2 || !runsOthers(exe) {
		return is(exe) || Runs(argv, is)
	}
	script := t.seenFrom(pid, scriptOf(argv))
	target, _ := filepath.EvalSymlinks(script)
	return Runs(argv, is) || is(script) || is(target)
}

// NameOf returns what the program of a command is called: for an interpreter, its script; "": a command line for a shell.
func NameOf(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	name := argv[0]
	if runsOthers(name) {
		name = scriptOf(argv)
	}
	if name = filepath.Base(name); name == "." || name == "resumed" { // which also starts agents that are not watched by it
		return ""
	}
	return name
}

// liesBelow reports whether a file is below a directory that has the program's name, as a file
// named after its version is. The name of a process alone proves nothing: a program can be
// started under any name.
func liesBelow(exe, name string) bool {
	name = filepath.Base(strings.TrimSpace(name))
	return slices.Contains(strings.Split(filepath.Dir(exe), string(filepath.Separator)), name)
}

// executable returns the file that a process of our own user runs, if it is still the same file.
func (t Table) executable(pid int) (string, bool) {
	if !t.Own(pid) {
		return "", false
	}
	path := t.Executable(pid)
	if !filepath.IsAbs(path) || !program.IsExecutable(path) {
		return "", false
	}
	if !t.HasProc() {
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

// Called returns the name of what a command line runs: of the program or, behind an interpreter or a shell, of the script.
func Called(program string, argv []string) string {
	if !runsOthers(program) {
		return filepath.Base(program)
	}
	for _, arg := range argv[min(1, len(argv)):] {
		if !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") {
			return filepath.Base(arg)
		}
	}
	return ""
}

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

// maxForebears bounds how many ancestors of a process are checked.
const maxForebears = 8

// Wrapper returns the command that started the agent and still runs as its ancestor, up to and
// with the agent's name: a sandbox, a script of the agent's name, or another program of the
// user; and the arguments for the agent. It is nil if the agent was started directly.
//
// A wrapper is in the same terminal, or the agent has none: a program in another terminal only
// shows the agent. If the agent is in a sandbox, the wrapper is outside of it, or has made it: what else runs in a sandbox is
// no way into it.
func (t Table) Wrapper(pid int, args []string, called string, sandboxed bool) (wrapper int, through, given []string) {
	given = args
	child, err := t.Stat(pid)
	if err != nil {
		return 0, nil, given
	}
	for range maxForebears {
		parent := child.Parent
		stat, err := t.Stat(parent)
		if parent <= 1 || err != nil || child.TTY != 0 && stat.TTY != child.TTY || !t.Own(parent) {
			break
		}
		if before, rest := t.throughOf(parent, given, called); before != nil && (!sandboxed || t.isWayIn(stat)) {
			wrapper, through, given = parent, before, rest // the outermost wrapper counts
		}
		child = stat
	}
	return wrapper, through, given
}

// isWayIn reports whether a process runs outside of any sandbox, or was started outside and is only as restricted as it
// makes itself. A process whose parent has ended gets another parent, which is of another session.
func (t Table) isWayIn(s procfs.Stat) bool {
	restrictions := func(pid int) []string {
		apart, err := t.Apart(pid)
		if err != nil {
			apart = []string{"it hides its namespaces"}
		}
		return append(apart, t.Tighter(pid, usermanager.Starter())...)
	}
	own := restrictions(s.PID)
	if len(own) == 0 {
		return true
	}
	made := restricting(t.Executable(s.PID), t.Argv(s.PID))
	if slices.ContainsFunc(own, func(restriction string) bool { return !slices.Contains(made, restriction) }) {
		return false
	}
	parent, err := t.Stat(s.Parent)
	return err == nil && parent.PID > 1 && parent.Session == s.Session && len(restrictions(parent.PID)) == 0
}

// restricting returns the restrictions of a program that makes a sandbox and then waits for what runs in it, in the words
// of procfs. It is the one in PATH: any program may have its name.
func restricting(exe string, argv []string) (made []string) {
	name := filepath.Base(exe)
	installed, err := exec.LookPath(name)
	if err == nil {
		installed, err = filepath.EvalSymlinks(installed)
	}
	switch {
	case err != nil || installed != exe || len(argv) == 0:
		return nil
	case name == "bwrap":
		return []string{"no_new_privs", "fewer capabilities"}
	case name != "unshare":
		return nil
	}
	for _, arg := range argv[1:] {
		letters, isShort := strings.CutPrefix(arg, "-")
		if !isShort {
			break
		}
		isShort = strings.Trim(letters, "imnpuUCTfrc") == ""
		for _, of := range unshares {
			if strings.HasPrefix(arg, of.long) || isShort && strings.ContainsAny(letters, of.letters) {
				made = append(made, of.word)
			}
		}
	}
	return made
}

// unshares are the options of unshare for namespaces that it enters itself.
var unshares = []struct{ letters, long, word string }{
	{"m", "--mount", "mounts"}, {"n", "--net", "network"}, {"U", "--user", "users"}, {"rc", "--map-", "users"},
}

// throughOf returns the beginning of an ancestor's command line, if the rest is the agent's name
// and these arguments. A script may add arguments; another program passes them on unchanged.
func (t Table) throughOf(pid int, args []string, called string) (through, given []string) {
	argv, exe := t.Argv(pid), t.Executable(pid)
	at := len(argv) - len(args) - 1
	switch name := strings.TrimRight(filepath.Base(exe), "0123456789."); {
	case len(argv) < 2 || name == "resumed": // resumed is not part of what the person started
		return nil, nil
	case slices.Contains(scripting, name): // a script with the agent's name
		script := t.seenFrom(pid, argv[1])
		if filepath.Base(script) != called || !program.IsExecutable(script) || !containsAll(args, argv[2:]) {
			return nil, nil
		}
		return []string{script}, argv[2:]
	case runsOthers(exe): // node runs the agent itself, and in a shell it was typed
		return nil, nil
	case at < 1 || filepath.Base(argv[at]) != called || !slices.Equal(argv[at+1:], args):
		return nil, nil // at 0 it is the agent, which has started itself again
	case strings.ContainsAny(argv[at], " \t\n"): // a command line for a shell that ends with the name
		return nil, nil
	}
	if file := t.seenFrom(pid, argv[at]); exists(file) && !program.IsExecutable(file) {
		return nil, nil // a directory or a text file of that name
	}
	through = slices.Clone(argv[:at+1])
	if filepath.IsAbs(exe) {
		through[0] = exe
	}
	return through, args
}

func (t Table) seenFrom(pid int, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(t.Cwd(pid), path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(arg string) bool { return !slices.Contains(all, arg) })
}

var scripting = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "python", "perl", "ruby"}
