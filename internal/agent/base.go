package agent

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/process"
	"resumed/internal/program"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// About is what an agent's room says of its agent, once.
type About struct {
	Name    string                 // in configuration, status and metrics
	Program string                 // what its program is called
	Is      func(path string) bool // reports whether a path is the program's
	Places  []string               // where the program may also lie, below the user's home directory

	ByHand string // the arguments by which a person goes on with a session, whose id follows; empty: not known

	Flags     leash.Flags     // those of the program, in all versions that are supported
	Variables leash.Variables // those of the environment that matter to it alone

	// Login returns the login of a process with these variables; empty: it has none,
	// or a key decides. It is nil where the agent does not tell.
	Login func(variable func(name string) string) string

	// Account returns whose allowance is used where no key decides, of an agent whose sessions go on
	// with any login. It is nil where Login tells, or nothing does.
	Account func(variable func(name string) string) string

	// Keys are variables of which each decides whose allowance is used, by a key.
	Keys []string
}

// Unseen is what is done about a session that may do things without asking, where
// its start was not seen: flags may have bounded that.
type Unseen string

// What may be done.
const (
	Narrow   Unseen = "narrow"    // it goes on in the next mode that asks
	SameMode Unseen = "same_mode" // it goes on in the mode that its transcript tells
	Park     Unseen = "park"      // a person is asked
)

// Base is what all agents have in common, and what there is to say where an
// agent does not have something. A room embeds it.
type Base struct {
	Processes process.Table
	Limits    limit.Reader // without its time
	UserDir   string       // the user's home directory; empty: not known

	Command string   // the program's name or path; empty: it is looked for
	Env     []string // KEY=value, added for resumed runs
	Unseen  Unseen

	about About
}

// NewBase returns what an agent has in common with others.
func NewBase(about About, o Options) Base {
	userDir, _ := os.UserHomeDir()
	return Base{
		Processes: process.Here,
		Limits:    limit.Reader{Zone: o.Zone, Grace: o.Grace},
		UserDir:   userDir,
		Command:   o.Command,
		Env:       slices.Clone(o.Env),
		Unseen:    cmp.Or(o.Unseen, Narrow),
		about:     about,
	}
}

// Name is the agent's name in configuration, status and metrics.
func (b *Base) Name() string { return b.about.Name }

// ProgramName is what the agent's program is called.
func (b *Base) ProgramName() string { return b.about.Program }

// Flags is the table of the program's flags.
func (b *Base) Flags() leash.Flags { return b.about.Flags }

// LimitsAt reads limits that were told at that time.
func (b *Base) LimitsAt(at time.Time) limit.Reader {
	reader := b.Limits
	reader.At = at
	return reader
}

// Find returns the program that continues the session: as configured, as the
// session was run with, in PATH, or where it is usually put.
func (b *Base) Find(s resume.Session) (program.Found, error) {
	var places []string
	for _, place := range b.about.Places {
		places = append(places, filepath.Join(b.UserDir, place))
	}
	places = append(places, program.UsualPlaces(b.UserDir)...)
	found, err := program.Search{Name: b.about.Program, Command: b.Command, Places: places}.Find(s.Program)
	if o := s.StartedWith(); err == nil && found.Way != program.ByConfig && o != nil && len(o.Through) > 0 {
		found.Way, found.Through = program.BySession, o.Through
	}
	return found, err
}

// Carry says what of its start a session is continued with, but for the flags of
// which something newer is known. It is false where that start was not seen.
func (b *Base) Carry(s resume.Session, newer ...string) (carried leash.Carried, seen bool) {
	o := s.StartedWith()
	if o == nil || !o.ArgsSeen {
		return leash.Carried{}, false
	}
	return b.about.Flags.Carry(*o, newer...), true
}

// Begin returns the command that runs the program in that directory.
func (b *Base) Begin(p program.Found, dir string, carried leash.Carried, env []string, args ...string) *Command {
	argv := slices.Clone(p.Argv())
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "{cwd}", dir)
	}
	return &Command{
		Argv: append(argv, args...), Dir: dir, Env: env, Carried: carried,
		Inside: len(p.Through) > 0 || p.Way == program.ByConfig && filepath.Base(p.Path) != b.about.Program,
	}
}

// Missing is the plan where the program is not found.
func (b *Base) Missing() Plan {
	return Parked("%s was not found: set command in [[agent]]", b.about.Program)
}

// Program returns the program that continues sessions of which nothing else is
// known, or why it is not found.
func (b *Base) Program() (program.Found, error) { return b.Find(resume.Session{}) }

// Lives reports whether the very process lives.
func (b *Base) Lives(process resume.Process) bool { return b.Processes.Lives(process) }

// GoOn returns the line for a shell by which a person goes on with the session where it
// works, or "": agents work in the directory that they are started in.
func (b *Base) GoOn(s resume.Session) string {
	if b.about.ByHand == "" {
		return ""
	}
	line := b.about.Program + " " + b.about.ByHand + " " + sanitize.ShellWord(s.Key.ID)
	if s.Cwd == "" {
		return line
	}
	return "cd " + sanitize.ShellWord(s.Cwd) + " && " + line
}

// Identify returns the program that the process runs, or false where it is not
// known for certain.
func (b *Base) Identify(pid int) (resume.Program, bool) {
	if b.about.Is == nil {
		return resume.Program{}, false
	}
	return b.Processes.Program(pid, b.about.Is)
}

// Talk says that there is no way to reach the owner.
func (b *Base) Talk(context.Context, resume.Session, resume.Owner, Words) (Plan, error) {
	return Plan{}, nil
}

// Queued says that no prompt waits.
func (b *Base) Queued(context.Context, resume.Session) (bool, error) { return false, nil }

// Denied says that nothing was refused.
func (b *Base) Denied(context.Context, resume.Session, Ran) (Denial, bool, error) {
	return Denial{}, false, nil
}

// Tidy removes nothing: nothing was left.
func (b *Base) Tidy(context.Context, resume.Session) error { return nil }

// Killed says that nothing is known of how a process ended.
func (b *Base) Killed(resume.Session, resume.Owner) bool { return false }

// NoProcess says that a process may live.
func (b *Base) NoProcess(context.Context) bool { return false }

// Writer says that no process is known by the files that it writes.
func (b *Base) Writer(context.Context, resume.Session) int { return 0 }

// Unwatched says that no process is known whose sessions are not watched.
func (b *Base) Unwatched(context.Context) ([]UnwatchedProcess, error) { return nil, nil }
