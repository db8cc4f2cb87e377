// Package process finds the living processes of agents: which run, their programs and
// arguments, and which may hold a session.
package process

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
	"resumed/internal/usermanager"
)

// Table finds the processes of agents. Queries about all of them are answered by a snapshot that
// others may share; queries about one, by its pid, always read it again.
type Table struct {
	procfs.FS
	looks *looks
}

// Here is the Table of this machine.
var Here = At(procfs.Proc)

// At returns a Table of the processes in another place.
func At(where procfs.FS) Table { return Table{where, newLooks(where)} }

// Exists reports whether there is a process of that pid. Where the kernel does not show more,
// it counts as the expected one.
func Exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Live is a living program.
type Live struct {
	PID  int
	Args []string // of the program itself, without those of an interpreter
	Mark string   // of the resume that started it, directly or not; empty: none
	Pane string   // of tmux, if it is in one
	Cwd  string   // its working directory; empty: not known

	environ   []string
	place     Dir   // the directory of Cwd
	forebears []int // its ancestors, the nearest first
	sandboxed bool  // it is in a sandbox that its own program made
	titled    bool  // it overwrote its arguments with a title
	detached  bool  // it has no terminal
}

// Variable returns a variable of the process's environment; empty: unset or not known.
func (p Live) Variable(name string) string { return procfs.Variable(p.environ, name) }

// The keys of what is read once per snapshot: a process, by its pid; all programs; and a
// directory, by its name.
type (
	liveOf     int
	programsOf struct{}
	placeOf    string
)

func (l *look) programs() ([]procfs.Listed, error) {
	programs := make([]procfs.Listed, 0, len(l.listed))
	for _, listed := range l.listed {
		if listed.Argv = withoutInterpreter(listed.Argv); len(listed.Argv) > 0 {
			programs = append(programs, listed)
		}
	}
	return programs, l.err
}

// Running returns the living processes of a program, run by itself or by an interpreter of
// JavaScript. is reports whether a path is the program's.
func (t Table) Running(ctx context.Context, is func(program string) bool) ([]Live, error) {
	seen := t.look(ctx)
	programs, err := once(seen, programsOf{}, seen.programs)
	if err != nil {
		return nil, err
	}
	var found []Live
	for _, listed := range programs {
		if !is(listed.Argv[0]) {
			continue
		}
		process, err := once(seen, liveOf(listed.PID), func() (Live, error) { return t.read(listed.PID, listed.Argv[1:]) })
		if err != nil {
			return nil, err // it may be the process that is searched for
		}
		found = append(found, process)
	}
	return found, nil
}

// OwnerInDir returns the living process that may hold the session of an agent without locks. A
// process in the session's directory may hold any session of it, and one that has the session's
// id in its arguments holds that one.
func (t Table) OwnerInDir(ctx context.Context, s resume.Session, is func(program string) bool, promptOptions ...string) (*resume.Owner, error) {
	ctx = WithSnapshot(ctx)
	running, err := t.Running(ctx, is)
	if err != nil || len(running) == 0 {
		return nil, err
	}
	place := t.PlaceOf(ctx, s.Cwd)
	running = slices.DeleteFunc(running, func(p Live) bool {
		return p.CannotHold(s, p.Kind(promptOptions...)) || !p.LivesIn(place) && !p.Names(s.Key.ID)
	})
	return OneOf(running, s, func(p Live) string { return p.Kind(promptOptions...) }), nil
}

// OneOf returns the owner among the processes that may hold the session: the one with its id in
// its arguments, else the only one, else a guess.
func OneOf(holders []Live, s resume.Session, kind func(Live) string) *resume.Owner {
	if len(holders) == 0 {
		return nil
	}
	holders = begun(holders)
	owner, guessed := holders[0], len(holders) > 1
	for _, p := range holders {
		if p.Names(s.Key.ID) {
			owner, guessed = p, false
		}
	}
	return &resume.Owner{PID: owner.PID, Kind: kind(owner), Tmux: owner.Pane, Guessed: guessed}
}

// begun removes the processes that another of them started with the same arguments: agents start
// themselves again for more memory or in a sandbox, and a script starts its binary. The first
// process is the one that the person started.
func begun(all []Live) []Live {
	return slices.DeleteFunc(slices.Clone(all), func(p Live) bool {
		return slices.ContainsFunc(all, func(first Live) bool {
			return slices.Equal(first.Args, p.Args) && (slices.Contains(p.forebears, first.PID) || p.sandboxed && !first.sandboxed)
		})
	})
}

func (t Table) read(pid int, args []string) (Live, error) {
	cwd, err := t.Where(pid)
	environ, _ := t.Environ(pid) // empty if it has ended or is another user's
	process := Live{PID: pid, Args: args, Cwd: cwd, environ: environ, place: PlaceOf(cwd), forebears: t.forebears(pid)}
	process.Mark, process.Pane = process.Variable(resume.MarkVariable), process.Variable("TMUX_PANE")
	_, told := t.Arguments(pid, func(string) bool { return true })
	stat, statErr := t.Stat(pid)
	process.titled, process.detached = !told, statErr == nil && stat.TTY == 0
	if process.Variable("SANDBOX") != "" { // Gemini CLI and Qwen Code set it there
		apart, _ := t.Apart(pid) // an error counts as not sandboxed
		process.sandboxed = len(apart) > 0
	}
	return process, err
}

func (t Table) forebears(pid int) []int {
	var all []int
	for stat, err := t.Stat(pid); err == nil && stat.Parent > 1 && len(all) < maxForebears; stat, err = t.Stat(stat.Parent) {
		all = append(all, stat.Parent)
	}
	return all
}

// WithoutDescendants removes the processes that others of them have started.
func (t Table) WithoutDescendants(pids []int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		return slices.ContainsFunc(t.forebears(pid), func(forebear int) bool { return slices.Contains(pids, forebear) })
	})
}

// IsRun reports whether the process belongs to the current resume of the session. Any mark is
// not enough: resumes of an earlier daemon have one, and every terminal that a resume opened.
func (t Table) IsRun(pid int, s resume.Session) bool {
	return s.Run != nil && s.Run.Mark != "" && t.Variable(pid, resume.MarkVariable) == s.Run.Mark
}

// CannotHold reports whether a process of that kind cannot hold the session although it is in the
// same directory: it is the session's own resume, or that of another session. A process without
// readable arguments may hold any session.
func (p Live) CannotHold(s resume.Session, kind string) bool {
	if p.Mark == "" {
		return false
	}
	return s.Run != nil && p.Mark == s.Run.Mark || kind == "headless" && !p.titled && !p.Names(s.Key.ID)
}

// LivesIn reports whether the directory is the working directory of the process.
func (p Live) LivesIn(place Dir) bool { return p.place.Is(place) }

// Dir is a directory, independent of its name; the zero Dir is none.
type Dir struct{ name, real string }

// PlaceOf returns the directory of that name. Call it once to compare with many: resolving
// symbolic links costs more than the rest.
func PlaceOf(dir string) Dir {
	if dir == "" {
		return Dir{}
	}
	target, _ := filepath.EvalSymlinks(dir) // a missing directory has only its name
	return Dir{filepath.Clean(dir), target}
}

// PlaceOf returns the directory of that name, resolved once per snapshot: the sessions of a
// burst share few directories.
func (t Table) PlaceOf(ctx context.Context, dir string) Dir {
	return Once(ctx, t, placeOf(dir), func() Dir { return PlaceOf(dir) })
}

// Is reports whether both are the same directory.
func (p Dir) Is(other Dir) bool {
	return p.name != "" && (p.name == other.name || p.real != "" && p.real == other.real)
}

// SameDir reports whether two paths are the same directory; an empty path is none.
func SameDir(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	return filepath.Clean(a) == filepath.Clean(b) || PlaceOf(a).Is(PlaceOf(b))
}

// Names reports whether an argument of the process is that word, or an option with that value.
func (p Live) Names(word string) bool {
	return slices.ContainsFunc(p.Args, func(arg string) bool { return arg == word || strings.HasSuffix(arg, "="+word) })
}

// Kind reports whether a person uses the process: one with a prompt option is headless, and ends
// by itself. If the arguments are not readable, it depends on the terminal.
func (p Live) Kind(promptOptions ...string) string {
	if p.titled && p.detached {
		return "headless"
	}
	for _, arg := range p.Args {
		name, _, _ := strings.Cut(arg, "=")
		if slices.Contains(promptOptions, name) {
			return "headless"
		}
	}
	return "interactive"
}

// ProgramArgs returns the arguments of the program of a command line, run by itself or by an
// interpreter of JavaScript.
func ProgramArgs(argv []string) []string {
	if len(argv) == 0 {
		return nil
	}
	args := withoutInterpreter(argv)
	return args[min(1, len(args)):]
}

// Runs reports whether a command line runs the program, by itself or by an interpreter of
// JavaScript.
func Runs(argv []string, is func(program string) bool) bool {
	args := withoutInterpreter(argv)
	return len(args) > 0 && is(args[0])
}

// interpreterValues are the options of node that take the next argument as their value.
var interpreterValues = []string{"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file"}

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

// Arguments returns those of the agent's program, or false if they are not known: a process that
// set a title has overwritten them.
func (t Table) Arguments(pid int, is func(string) bool) ([]string, bool) {
	raw := t.Argv(pid)
	if len(raw) == 0 || is == nil {
		return nil, false
	}
	argv := withoutInterpreter(raw)
	if len(argv) == 0 || !is(argv[0]) {
		return nil, false
	}
	titled := len(argv) == len(raw) && runsOthers(t.Executable(pid))
	return argv[1:], !titled
}

// Sandbox describes the namespaces that a process does not share with us, and how else it is more
// restricted than we are; empty: neither. Namespaces that it hides count as not shared.
func (t Table) Sandbox(pid int) (string, error) {
	apart, err := t.Apart(pid)
	if errors.Is(err, fs.ErrPermission) {
		return "it hides its namespaces, or runs as another user", nil
	}
	if err != nil {
		return "", err
	}
	var all []string
	if len(apart) > 0 {
		all = append(all, strings.Join(apart, ", ")+" of its own")
	}
	words := strings.Join(append(all, t.Tighter(pid, usermanager.Starter())...), ", ")
	if words == "" {
		return "", nil
	}
	if kind := t.Container(pid); kind != "" {
		words = "a container (" + sanitize.Short(kind, 40) + "), " + words
	}
	return words, nil
}

// Lives reports whether the process of that pid and start time still lives.
func (t Table) Lives(process resume.Process) bool {
	if !t.Readable() {
		return process.PID > 0 && Exists(process.PID)
	}
	stat, err := t.Stat(process.PID)
	return err == nil && stat.Living() && stat.Start == process.Start
}
