// Package process says what is seen of the living processes of agents: which run, what
// program each is and what it was started with, and who may hold a session.
package process

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// Table is where the processes of agents are looked for. What is asked of all of
// them is answered by a look that others may share; what is asked of one, by its
// number, is always read anew.
type Table struct {
	procfs.FS
	looks *looks
}

// Here is where the processes of this machine are looked for.
var Here = At(procfs.Proc)

// At returns a Table of processes that are told of elsewhere.
func At(where procfs.FS) Table { return Table{where, newLooks(where)} }

// Answers reports whether there is a process of that number. Where the kernel
// does not tell more, it is taken for the one that was meant.
func Answers(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Live is a living program.
type Live struct {
	PID  int
	Args []string // of the program itself, without an interpreter's
	Mark string   // of the resume that it was started for, or by; empty: of none
	Pane string   // of tmux, where it lives in one
	Cwd  string   // the directory that it works in; empty: not known

	environ   []string
	place     Place // of Cwd
	forebears []int // the nearest first
	sandboxed bool  // it lives in a sandbox that its own program made
	titled    bool  // it has given itself a title, by which its arguments are lost
	detached  bool  // it has no terminal
}

// Variable returns a variable of the process's environment; empty: it has none, or
// that is not known.
func (p Live) Variable(name string) string { return procfs.Variable(p.environ, name) }

// These are the keys of what is read once for a look: what is known of a process, by its
// number; what runs in all of them; and where a directory is, by its name.
type (
	liveOf     int
	programsOf struct{}
	placeOf    string
)

// programs returns what was listed, without interpreters and what has no arguments.
func (l *look) programs() []procfs.Listed {
	programs := make([]procfs.Listed, 0, len(l.listed))
	for _, listed := range l.listed {
		if listed.Argv = withoutInterpreter(listed.Argv); len(listed.Argv) > 0 {
			programs = append(programs, listed)
		}
	}
	return programs
}

// Running returns the living processes of a program, run by itself or by an
// interpreter of JavaScript. is tells whether a path is the program's.
func (t Table) Running(ctx context.Context, is func(program string) bool) ([]Live, error) {
	seen := t.look(ctx)
	if seen.err != nil {
		return nil, seen.err
	}
	var found []Live
	for _, listed := range once(seen, programsOf{}, seen.programs) {
		if !is(listed.Argv[0]) {
			continue
		}
		process := once(seen, liveOf(listed.PID), func() known[Live] { return knownAs(t.read(listed.PID, listed.Argv[1:])) })
		if process.err != nil {
			return nil, process.err // it may be the one that is looked for
		}
		found = append(found, process.value)
	}
	return found, nil
}

// Neighbour returns the living process that may hold the session of an agent
// that takes no lock: who lives in the session's directory may hold any session
// of it, and who names the session holds that one.
func (t Table) Neighbour(ctx context.Context, s resume.Session, is func(program string) bool, promptOptions ...string) (*resume.Owner, error) {
	ctx = WithSnapshot(ctx)
	running, err := t.Running(ctx, is)
	if err != nil || len(running) == 0 {
		return nil, err
	}
	place := t.PlaceOf(ctx, s.Cwd)
	running = slices.DeleteFunc(running, func(p Live) bool {
		return p.Bystands(s, p.Kind(promptOptions...)) || !p.LivesIn(place) && !p.Names(s.Key.ID)
	})
	return OneOf(running, s, func(p Live) string { return p.Kind(promptOptions...) }), nil
}

// OneOf returns the owner among processes that may hold the session: the one that
// names it, else the only one, else a guess.
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

// begun returns the processes without those that one of them has started with its
// own arguments: programs begin themselves anew, for more memory or in a sandbox of
// their own, and a script starts the binary that it brings. What a person gave is
// the first one's.
func begun(all []Live) []Live {
	return slices.DeleteFunc(slices.Clone(all), func(p Live) bool {
		return slices.ContainsFunc(all, func(first Live) bool {
			return slices.Equal(first.Args, p.Args) && (slices.Contains(p.forebears, first.PID) || p.sandboxed && !first.sandboxed)
		})
	})
}

// read returns what is known of a process of the program.
func (t Table) read(pid int, args []string) (Live, error) {
	cwd, err := t.Where(pid)
	environ, _ := t.Environ(pid) // of one that is gone, or another user's, nothing is known
	process := Live{PID: pid, Args: args, Cwd: cwd, environ: environ, place: PlaceOf(cwd), forebears: t.forebears(pid)}
	process.Mark, process.Pane = process.Variable(resume.MarkVariable), process.Variable("TMUX_PANE")
	_, told := t.Arguments(pid, func(string) bool { return true })
	stat, statErr := t.Stat(pid)
	process.titled, process.detached = !told, statErr == nil && stat.TTY == 0
	apart, _ := t.Apart(pid)                                                // who hides it is nobody's child
	process.sandboxed = len(apart) > 0 && process.Variable("SANDBOX") != "" // as Gemini CLI and Qwen Code tell themselves in there
	return process, err
}

// forebears returns who started a process, who started that, and so on.
func (t Table) forebears(pid int) []int {
	var all []int
	for stat, err := t.Stat(pid); err == nil && stat.Parent > 1 && len(all) < maxForebears; stat, err = t.Stat(stat.Parent) {
		all = append(all, stat.Parent)
	}
	return all
}

// Eldest returns the processes without those that others of them have started.
func (t Table) Eldest(pids []int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		return slices.ContainsFunc(t.forebears(pid), func(forebear int) bool { return slices.Contains(pids, forebear) })
	})
}

// IsRun reports whether the process is the resume that the session is in. A mark
// alone does not make it that: it is also with the runs that another daemon has
// left behind, and in every terminal that a resumed run has opened.
func (t Table) IsRun(pid int, s resume.Session) bool {
	return s.Run != nil && s.Run.Mark != "" && t.Variable(pid, resume.MarkVariable) == s.Run.Mark
}

// Bystands reports whether a process of that kind holds nothing of the session
// although it lives where the session does: it is the resume that the session
// is in, or one of another session. If its arguments are lost it may be of any session.
func (p Live) Bystands(s resume.Session, kind string) bool {
	if p.Mark == "" {
		return false
	}
	return s.Run != nil && p.Mark == s.Run.Mark || kind == "headless" && !p.titled && !p.Names(s.Key.ID)
}

// LivesIn reports whether the process works in the directory.
func (p Live) LivesIn(place Place) bool { return p.place.Is(place) }

// Place is a directory, by whatever name; the zero Place is none.
type Place struct{ name, real string }

// PlaceOf returns the directory of that name. Who compares it with many does so
// once: to follow symbolic links costs more than all the rest.
func PlaceOf(dir string) Place {
	if dir == "" {
		return Place{}
	}
	target, _ := filepath.EvalSymlinks(dir) // one that is not there has its name alone
	return Place{filepath.Clean(dir), target}
}

// PlaceOf returns the directory of that name, which is looked for once for all questions
// that are asked together: the sessions of a burst share few.
func (t Table) PlaceOf(ctx context.Context, dir string) Place {
	return Once(ctx, t, placeOf(dir), func() Place { return PlaceOf(dir) })
}

// Is reports whether two places are one.
func (p Place) Is(other Place) bool {
	return p.name != "" && (p.name == other.name || p.real != "" && p.real == other.real)
}

// SameDir reports whether two paths are one place, by whatever name; an empty
// one is none.
func SameDir(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	return filepath.Clean(a) == filepath.Clean(b) || PlaceOf(a).Is(PlaceOf(b))
}

// Names reports whether an argument of the process is that word, or gives it as
// an option's value.
func (p Live) Names(word string) bool {
	return slices.ContainsFunc(p.Args, func(arg string) bool { return arg == word || strings.HasSuffix(arg, "="+word) })
}

// Kind says whether a person sits before the process: one that was given its
// prompt by such an option ends by itself. If its arguments are lost, its terminal tells.
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

// ProgramArgs returns the arguments of the program that a command line runs, by
// itself or by an interpreter of JavaScript.
func ProgramArgs(argv []string) []string {
	if len(argv) == 0 {
		return nil
	}
	args := withoutInterpreter(argv)
	return args[min(1, len(args)):]
}

// Runs reports whether a command line runs the program, by itself or by an
// interpreter of JavaScript.
func Runs(argv []string, is func(program string) bool) bool {
	args := withoutInterpreter(argv)
	return len(args) > 0 && is(args[0])
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
