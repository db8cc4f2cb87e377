package agent

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

// Processes is where the processes of agents are looked for.
type Processes struct{ procfs.FS }

// ErrUnseen is in the error of an Owner who cannot be known: a live process may
// hold the session, or none.
var ErrUnseen = procfs.ErrUnseen

// Answers reports whether there is a process of that number. Where the kernel
// does not tell more, it is taken for the one that was meant.
func Answers(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Process is a living program.
type Process struct {
	PID  int
	Args []string // of the program itself, without an interpreter's
	Mark string   // of the resume that it was started for, or by; empty: of none
	Pane string   // of tmux, where it lives in one

	cwd       string
	forebears []int // the nearest first
	sandboxed bool  // it lives in a sandbox that its own program made
}

// Running returns the living processes of a program, run by itself or by an
// interpreter of JavaScript. is tells whether a path is the program's.
func (p Processes) Running(ctx context.Context, is func(program string) bool) ([]Process, error) {
	all, err := p.List(ctx)
	if err != nil {
		return nil, err
	}
	var found []Process
	for _, listed := range all {
		argv := withoutInterpreter(listed.Argv)
		if len(argv) == 0 || !is(argv[0]) {
			continue
		}
		process, err := p.read(listed.PID, argv[1:])
		if err != nil {
			return nil, err // it may be the one that is looked for
		}
		found = append(found, process)
	}
	return found, nil
}

// Neighbour returns the living process that may hold the session of an agent
// that takes no lock: who lives in the session's directory may hold any session
// of it, and who names the session holds that one.
func (p Processes) Neighbour(ctx context.Context, s resume.Session, is func(program string) bool, promptOptions ...string) (*resume.Owner, error) {
	running, err := p.Running(ctx, is)
	if err != nil {
		return nil, err
	}
	running = slices.DeleteFunc(running, func(p Process) bool {
		return p.Bystands(s, p.Kind(promptOptions...)) || !p.LivesIn(s.Cwd) && !p.Names(s.Key.ID)
	})
	return OneOf(running, s, func(p Process) string { return p.Kind(promptOptions...) }), nil
}

// OneOf returns the owner among processes that may hold the session: the one that
// names it, else the only one, else a guess.
func OneOf(holders []Process, s resume.Session, kind func(Process) string) *resume.Owner {
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
func begun(all []Process) []Process {
	return slices.DeleteFunc(slices.Clone(all), func(p Process) bool {
		return slices.ContainsFunc(all, func(first Process) bool {
			return slices.Equal(first.Args, p.Args) && (slices.Contains(p.forebears, first.PID) || p.sandboxed && !first.sandboxed)
		})
	})
}

// read returns what is known of a process of the program.
func (p Processes) read(pid int, args []string) (Process, error) {
	cwd, err := p.Where(pid)
	process := Process{PID: pid, Args: args, Mark: p.Variable(pid, MarkVariable), Pane: p.Variable(pid, "TMUX_PANE"), cwd: cwd}
	apart, _ := p.Apart(pid)                                               // who hides it is nobody's child
	process.sandboxed = len(apart) > 0 && p.Variable(pid, "SANDBOX") != "" // as Gemini CLI and Qwen Code tell themselves in there
	process.forebears = p.forebears(pid)
	return process, err
}

// forebears returns who started a process, who started that, and so on.
func (p Processes) forebears(pid int) []int {
	var all []int
	for stat, err := p.Stat(pid); err == nil && stat.Parent > 1 && len(all) < maxForebears; stat, err = p.Stat(stat.Parent) {
		all = append(all, stat.Parent)
	}
	return all
}

// Eldest returns the processes without those that others of them have started.
func (p Processes) Eldest(pids []int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		return slices.ContainsFunc(p.forebears(pid), func(forebear int) bool { return slices.Contains(pids, forebear) })
	})
}

// IsRun reports whether the process is the resume that the session is in. A mark
// alone does not make it that: it is also with the runs that another daemon has
// left behind, and in every terminal that a resumed run has opened.
func (p Processes) IsRun(pid int, s resume.Session) bool {
	return s.Run != nil && s.Run.Mark != "" && p.Variable(pid, MarkVariable) == s.Run.Mark
}

// Bystands reports whether a process of that kind holds nothing of the session
// although it lives where the session does: it is the resume that the session
// is in, or one of another session.
func (p Process) Bystands(s resume.Session, kind string) bool {
	if p.Mark == "" {
		return false
	}
	return s.Run != nil && p.Mark == s.Run.Mark || kind == "headless" && !p.Names(s.Key.ID)
}

// LivesIn reports whether the process works in the directory, by whatever name.
func (p Process) LivesIn(dir string) bool { return SameDir(p.cwd, dir) }

// SameDir reports whether two paths are one place, by whatever name; an empty
// one is none.
func SameDir(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	realA, errA := filepath.EvalSymlinks(a)
	realB, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && realA == realB
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

// ProgramArgs returns the arguments of the program that a command line runs, by
// itself or by an interpreter of JavaScript.
func ProgramArgs(argv []string) []string {
	if len(argv) == 0 {
		return nil
	}
	args := withoutInterpreter(argv)
	return args[min(1, len(args)):]
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
