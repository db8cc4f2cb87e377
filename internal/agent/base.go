package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/childenv"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/program"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
	"resumed/internal/starts"
	"resumed/internal/usage"
	"resumed/internal/usermanager"
)

// About is the fixed description of an agent.
type About struct {
	Name    string                 // in configuration, status and metrics
	Program string                 // what its program is called
	Is      func(path string) bool // reports whether a path is the program's
	Places  []string               // further directories of the program, below the user's home directory

	ByHand string // the arguments with which a person continues a session, before its id; empty: not known

	Flags     leash.Flags     // of the program, in all supported versions
	Variables leash.Variables // of the environment, that only this agent uses

	// Login returns the login of a process; empty: it has none, or a key is used. nil: the agent does not tell.
	Login func(variable func(name string) string) string

	// Account is for agents whose sessions can continue with any login, if no key is used. nil: Login tells it.
	Account func(variable func(name string) string) string

	// Settings are its files that say what a session may do without asking. nil: there are none.
	Settings *SettingsFiles

	// Keys are variables with an API key. Each one decides which allowance is used.
	Keys []string
}

// Base is what all agents have in common, and the defaults for what an agent lacks.
type Base struct {
	Processes process.Table
	Limits    limit.Reader // its At is not set
	UserDir   string       // the user's home directory; empty: not known

	Command string   // the program's name or path; empty: it is searched
	Env     []string // KEY=value, added for resumed runs

	about About
}

// NewBase returns the Base of an agent.
func NewBase(about About, o Options) Base {
	userDir, _ := os.UserHomeDir()
	return Base{
		Processes: process.Here,
		Limits:    limit.Reader{Zone: o.Zone, Grace: o.Grace},
		UserDir:   userDir,
		Command:   o.Command,
		Env:       slices.Clone(o.Env),
		about:     about,
	}
}

// Name is the agent's name in configuration, status and metrics.
func (b *Base) Name() string { return b.about.Name }

// ProgramName is what the agent's program is called.
func (b *Base) ProgramName() string { return b.about.Program }

// Flags is the table of the program's flags.
func (b *Base) Flags() leash.Flags { return b.about.Flags }

// LimitsAt returns a reader for limits that were stated at that time.
func (b *Base) LimitsAt(at time.Time) limit.Reader {
	reader := b.Limits
	reader.At = at
	return reader
}

// Find returns the program: as configured, the one the session ran with, in PATH, or in a usual directory.
func (b *Base) Find(s resume.Session) (program.Found, error) {
	o := s.StartedWith()
	if o != nil && len(o.Through) > 0 && b.Command == "" {
		return program.Found{Program: o.Program, Way: program.BySession, Through: o.Through}, nil
	}
	var places []string
	for _, place := range b.about.Places {
		places = append(places, filepath.Join(b.UserDir, place))
	}
	places = append(places, program.UsualPlaces(b.UserDir)...)
	found, err := program.Search{Name: b.about.Program, Command: b.Command, Places: places}.Find(s.Program())
	if err != nil && b.Command == "" && o != nil && o.Sandbox != "" {
		return program.Found{Program: resume.Program{Path: b.about.Program}}, nil // it may be there in the sandbox
	}
	return found, err
}

// Carry returns the flags of the start, except those for which something newer is known, if it was seen.
func (b *Base) Carry(s resume.Session, newer ...string) (carried leash.Repeated, seen bool) {
	o := s.StartedWith()
	if o == nil || !o.ArgsSeen {
		return leash.Repeated{}, false
	}
	return b.about.Flags.Carry(*o, newer...), true
}

// NewCommand returns the command that runs the program in that directory.
func (b *Base) NewCommand(p program.Found, dir string, carried leash.Repeated, env []string, args ...string) *Command {
	argv := slices.Clone(p.Argv())
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "{cwd}", dir)
	}
	return &Command{
		Argv: append(argv, args...), Dir: dir, Env: env, Carried: carried, Files: p.Files(dir),
		Inside: len(p.Through) > 0 || p.Way == program.ByConfig && b.isWayIn(p.Path),
	}
}

// isWayIn reports whether a configured program is not the agent itself, so it may enter a container or a
// sandbox: it has another name, or it is a shell script of the user. The agent's installer may write one, too.
func (b *Base) isWayIn(path string) bool {
	installed := slices.ContainsFunc(b.about.Places, func(place string) bool { return filepath.Join(b.UserDir, place) == filepath.Dir(path) })
	return filepath.Base(path) != b.about.Program || program.IsOwnScript(path) && !installed
}

// Missing returns the plan if the program is not found.
func (b *Base) Missing() Plan {
	plan := Parked("%s was not found: set command in [[agent]]", b.about.Program)
	plan.Skip.NoProgram = true
	return plan
}

// Program returns the program for sessions about which nothing else is known.
func (b *Base) Program() (program.Found, error) { return b.Find(resume.Session{}) }

// Lives reports whether exactly this process is alive (its pid was not reused).
func (b *Base) Lives(process resume.Process) bool { return b.Processes.Lives(process) }

// ContinueCommand returns a shell command for people: agents work in the directory they are started in.
func (b *Base) ContinueCommand(s resume.Session) string {
	if b.about.ByHand == "" {
		return ""
	}
	line := b.about.Program + " " + b.about.ByHand + " " + sanitize.ShellWord(s.Key.ID)
	if s.Cwd == "" {
		return line
	}
	return "cd " + sanitize.ShellWord(s.Cwd) + " && " + line
}

// Runs reports whether the process seems to run the agent's program.
func (b *Base) Runs(pid int) bool {
	return b.about.Is != nil && b.Processes.Seems(pid, b.about.Is)
}

// PlanLive returns an empty Plan: there is no way to reach the owner.
func (b *Base) PlanLive(context.Context, resume.Session, resume.Owner, string) (Plan, error) {
	return Plan{}, nil
}

// HasPendingPrompt reports that no prompt is queued.
func (b *Base) HasPendingPrompt(context.Context, resume.Session) (bool, error) { return false, nil }

// Denied reports that nothing was refused.
func (b *Base) Denied(context.Context, resume.Session, Ran) (Denial, bool, error) {
	return Denial{}, false, nil
}

// Tidy does nothing: runs leave nothing behind.
func (b *Base) Tidy(context.Context, resume.Session) error { return nil }

// Killed reports false: how a process ended is not known.
func (b *Base) Killed(resume.Session, resume.Owner) bool { return false }

// NoProcess reports false: a process may be alive.
func (b *Base) NoProcess(context.Context) bool { return false }

// Writer returns 0: the process that writes a transcript is not known.
func (b *Base) Writer(context.Context, resume.Session) int { return 0 }

// Unwatched returns none.
func (b *Base) Unwatched(context.Context) ([]UnwatchedProcess, error) { return nil, nil }

// ContextSize returns false: the size of the context is not known.
func (b *Base) ContextSize(context.Context, resume.Session) (resume.Context, bool, error) {
	return resume.Context{}, false, nil
}

// Usage returns false: the agent does not tell how much of its allowances is used.
func (b *Base) Usage(context.Context, resume.Session) (resume.Usage, bool, error) {
	return resume.Usage{}, false, nil
}

// Readings returns none: the agent does not tell.
func (b *Base) Readings(context.Context, resume.Session) ([]usage.Reading, error) { return nil, nil }

// Origin returns nil if the process ended, belongs to another user, or its sandbox cannot be determined.
func (b *Base) Origin(pid int, secrets bool) *resume.Origin {
	return b.OriginBy(b.Variables(), pid, secrets)
}

// OriginBy is Origin with another table of variables than the agent's usual one. A script may become its interpreter
// while it is read.
func (b *Base) OriginBy(table leash.Variables, pid int, secrets bool) *resume.Origin {
	const most = 3
	for range most {
		before := b.programOf(pid)
		o := b.originBy(table, pid, secrets)
		if o == nil || before != b.programOf(pid) {
			continue
		}
		if o.Sandbox == "" { // what ran in a sandbox is not run outside of it
			o.Program = before
		}
		return o
	}
	return nil
}

// programOf returns the program that the process runs; zero: that is not certain.
func (b *Base) programOf(pid int) resume.Program {
	if b.about.Is == nil {
		return resume.Program{}
	}
	program, known := b.Processes.Program(pid, b.about.Is)
	if !known {
		return resume.Program{}
	}
	return program
}

func (b *Base) originBy(table leash.Variables, pid int, secrets bool) *resume.Origin {
	p := b.Processes
	before, err := p.Stat(pid)
	if err != nil && p.Readable() {
		return nil
	}
	from := pid // the process whose environment a resume gets
	o := &resume.Origin{
		Process: resume.Process{PID: pid, Start: before.Start},
		Boot:    procfs.Boot(), SeenAt: time.Now().Round(0), Cwd: p.Cwd(pid), TTY: before.TTY != 0,
	}
	if age, known := p.Age(pid); known {
		o.BeganAt = o.SeenAt.Add(-age)
	}
	if o.Sandbox, err = p.Sandbox(pid); err != nil {
		return nil
	}
	o.Freer = strings.Join(p.Tighter(usermanager.Starter(), pid), ", ")
	if args, seen := p.Arguments(pid, b.about.Is); seen { // the flags of a user's own agent are not known
		var wrapper int
		wrapper, o.Through, args = p.Wrapper(pid, args, b.about.Program, o.Sandbox != "")
		if o.Sandbox != "" && wrapper != 0 {
			from = wrapper // which runs outside, and makes of it what the agent has
		}
		o.Args, o.ArgsSeen = b.about.Flags.Storable(args, secrets), true
		o.Files = starts.HashFiles(b.about.Flags.Files(args, o.Cwd))
		if through := leash.Hide(o.Through); !secrets {
			o.Through = through
		} else if shown := slices.Concat(through, b.about.Flags.Storable(args, false)); !slices.Equal(shown, slices.Concat(o.Through, o.Args)) {
			o.Shown = shown
		}
	}
	o.Limits = p.Limits(from)
	if environ, err := p.Environ(from); err == nil {
		table.Record(o, environ, secrets)
		o.Login = b.Login(environ, o.Salt)
	}
	o.Settings = b.SettingsAt(*o)
	if after, err := p.Stat(pid); err == nil && after.Start != before.Start || err != nil && p.Readable() {
		return nil // the pid may have been reused
	}
	return o
}

// Login returns a salted hash of the login of a process with that environment; empty: not known.
func (b *Base) Login(environ []string, salt string) string {
	if b.about.Login == nil {
		return ""
	}
	login := b.about.Login(variables(environ))
	if login == "" {
		return ""
	}
	return leash.Hash(salt, login)
}

// Variables are the environment variables that matter to the agent.
func (b *Base) Variables() leash.Variables { return slices.Concat(b.about.Variables, leash.Common) }

// Identity returns a text that identifies the session's account on every machine, for a run with
// that environment; empty: not known. It is the first key that is set, else the login of the
// session's home. A session that was seen to run with another login has none. The text may be a
// secret: it must not leave the host unhashed.
func (t *Transcripts) Identity(s resume.Session, environ []string) string {
	if t.Elsewhere != nil {
		if home := t.Elsewhere(t.Homes.Of(s.Transcript)); home != "" {
			environ = append(slices.Clip(environ), home)
		}
	}
	if o := s.Origin; o != nil && o.EnvSeen && o.Login != "" && t.Login(environ, o.Salt) != o.Login {
		return ""
	}
	variable := variables(environ)
	for _, name := range t.about.Keys {
		if key := variable(name); key != "" {
			return "key " + key
		}
	}
	for _, tells := range []func(func(string) string) string{t.about.Login, t.about.Account} {
		if tells == nil {
			continue
		}
		if login := tells(variable); login != "" {
			return "login " + login
		}
	}
	return ""
}

func variables(environ []string) func(name string) string {
	return func(name string) string { return childenv.Value(environ, name) }
}
