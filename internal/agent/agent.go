// Package agent defines what resumed needs from every agent: where it writes, what a line
// means, which process holds a session, and how the session is continued.
package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"resumed/internal/leash"
	"resumed/internal/lines"
	"resumed/internal/procfs"
	"resumed/internal/program"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// Agent is one kind of coding agent. Its methods are called from several goroutines at once.
// Depending on how it stores its sessions it is also a Reader or a Follower. Implementations
// embed Base, which has defaults for what an agent lacks.
type Agent interface {
	// Name is the agent's name in configuration, status and metrics.
	Name() string

	ProgramFinder
	OwnerFinder
	StartReader
	Meter
	Planner
}

// ProgramFinder finds the program of an agent.
type ProgramFinder interface {
	// Program returns the program for sessions about which nothing else is known, or why it is not found.
	Program() (program.Found, error)

	// Runs reports whether a live process seems to run the agent's program.
	Runs(pid int) bool

	// ContinueCommand returns the shell command with which a person continues the session; "": not known.
	ContinueCommand(resume.Session) string
}

// OwnerFinder finds the processes that hold sessions of an agent.
type OwnerFinder interface {
	// Owner returns the live process that holds the session, or nil. Its error may be ErrUnseen.
	Owner(context.Context, resume.Session) (*resume.Owner, error)

	// Lives reports whether exactly this process is alive (its pid was not reused).
	Lives(resume.Process) bool

	// NoProcess reports whether it is certain that no live process holds any session of the agent.
	NoProcess(context.Context) bool

	// Writer returns the process that writes the transcript, if the agent offers no other way; 0: not known.
	Writer(context.Context, resume.Session) int

	// Unwatched returns the live processes of the agent whose sessions are not watched.
	Unwatched(context.Context) ([]UnwatchedProcess, error)

	// Killed reports whether the process that held the session was killed or crashed: its user did not end it.
	Killed(resume.Session, resume.Owner) bool
}

// StartReader tells what a session was started with, and which allowance it uses.
type StartReader interface {
	// Origin returns what a live process runs, which is often another program than a service finds, and what it was
	// started with; nil: not known. Secrets are included only on request.
	Origin(pid int, secrets bool) *resume.Origin

	// SettingsAt returns what the agent's settings files say that a process with this start reads, as far as they are older
	// than the process; nil: there are none that matter.
	SettingsAt(o resume.Origin) *resume.Settings

	// Variables are the environment variables that a resume must share with its session.
	Variables() leash.Variables

	// Login returns a salted hash of the login that a run with this environment uses; empty: not known.
	Login(environ []string, salt string) string
}

// Meter measures the size of a session, and how much of its allowances is used.
type Meter interface {
	// ContextSize returns the size of the context that a resume has to read again, or false if it is not known.
	ContextSize(context.Context, resume.Session) (resume.Context, bool, error)

	// Usage returns what the agent knows about its account's allowances, or false if it does not tell.
	Usage(context.Context, resume.Session) (resume.Usage, bool, error)

	// Readings returns the state of each window of the account's allowances; none: not known.
	Readings(context.Context, resume.Session) ([]usage.Reading, error)
}

// Planner decides how a session is continued, and evaluates the result.
type Planner interface {
	// Plan returns how the session is continued now. The transcript may have changed during the wait.
	Plan(ctx context.Context, session resume.Session, prompt string) (Plan, error)

	// PlanLive returns how the session is continued while owner holds it. Like Plan it reads
	// everything again. A session that continues by itself gets Plan.Skip. An empty Plan
	// means that there is no way to reach owner.
	PlanLive(ctx context.Context, session resume.Session, owner resume.Owner, prompt string) (Plan, error)

	// HasPendingPrompt reports whether a prompt for the session waits until a process takes it.
	HasPendingPrompt(context.Context, resume.Session) (bool, error)

	// Denied returns the last permission that a resumed run of the session was refused, or
	// false if there was none or the run continued without it. A run without a terminal is
	// refused every permission it has to ask for, and still exits successfully.
	Denied(ctx context.Context, session resume.Session, run Ran) (Denial, bool, error)

	// Tidy removes what resumed runs left behind. It is called before a run, and after its end by any daemon.
	Tidy(context.Context, resume.Session) error
}

// QuestionReader is an Agent whose processes tell what their user does, and what they ask for.
type QuestionReader interface {
	// PendingQuestion returns the process that works on the session (nil: none), and what it asks a person for; "": nothing.
	PendingQuestion(context.Context, resume.Session) (working *resume.Owner, what string, err error)

	// UserLeft reports whether the process that held the session lives, and its user began an empty one there.
	UserLeft(context.Context, resume.Session) bool
}

// Turns is an Agent whose transcripts tell whether a turn has ended.
type Turns interface {
	// OpenTurn reports whether the last turn has certainly not ended, and when its last record was written.
	OpenTurn(context.Context, resume.Session) (at time.Time, open bool, err error)

	// Ended returns how the process of the session ended in the middle of a turn.
	Ended(resume.Session) resume.End

	// Records returns the files in which the session's process writes, also for its subagents.
	Records(resume.Session) []string
}

// OpenToolReader is an Agent whose transcripts tell which tool was called and has no result yet.
type OpenToolReader interface {
	// OpenTool returns that tool, in the agent's words; "": none, or not known.
	OpenTool(context.Context, resume.Session) string
}

// SubagentReader is an Agent whose sessions start subagents.
type SubagentReader interface {
	// Subagents returns those that an error of the provider stopped since the last prompt, the oldest first.
	Subagents(context.Context, resume.Session) ([]resume.Subagent, error)
}

// SessionFinder is an Agent whose processes register which session they have open.
type SessionFinder interface {
	// SessionOf returns the session that a live process has open; "": not known.
	SessionOf(pid int) string
}

// ErrUnseen is in the error of Owner if there may or may not be a live process that holds the session.
var ErrUnseen = procfs.ErrUnseen

// FileAgent is an Agent that writes its sessions as lines of files.
type FileAgent interface {
	Agent

	// Sources returns the places where the agent writes.
	Sources() []Source

	// Observe returns what one line means for its session, or false if nothing. Equal lines
	// give equal observations, whenever they are read. The caller sets Pos. An observation
	// without an id is about a session whose id is not known: it can be explained, but not
	// continued.
	Observe(Source, lines.Line) (resume.Observation, bool)
}

// DatabaseAgent is an Agent that stores its sessions in another way, such as a database.
type DatabaseAgent interface {
	Agent

	// Follow reports what happens to the agent's sessions until ctx is done, and then returns soon.
	Follow(ctx context.Context, feed Feed) error

	// ReadNew reports everything new about the session before it returns.
	ReadNew(ctx context.Context, session resume.Session) error

	// Evidence returns the last event in the file at path for each of its sessions.
	Evidence(path string) ([]Evidence, error)
}

// Source is one place where an agent writes.
type Source struct {
	Account string // of the sessions found there
	Root    string // the directory that is watched
	Depth   int    // how many directory levels below Root are watched; 0: Root itself

	// Match says whether a file is one of the agent's, by its name relative to Root.
	Match func(rel string) bool

	// Packed says whether a file is a compressed transcript, which is not watched. nil: there are none.
	Packed func(rel string) bool

	// Sift estimates the weight of a line from its bytes, before it is copied or parsed.
	Sift func(line []byte) Weight

	// Shared says that one file may contain many sessions: its last line is about one of them.
	Shared bool
}

// Weight is how important a line may be, estimated from its bytes alone.
type Weight uint8

// The weights.
const (
	Nothing Weight = iota // can be ignored
	Moves                 // may be movement: of consecutive lines like this the last real one is enough
	Matters               // may be anything: it must be parsed
)

// Plan is how a session is continued. One field is set, or none in the result of PlanLive.
type Plan struct {
	Run  *Command
	Type *Typing
	Skip *Skip
}

// Command is a program that continues a session without a terminal.
type Command struct {
	Argv []string // Argv[0] is looked up in PATH
	Dir  string   // an existing directory
	Env  []string // KEY=value, added to the daemon's own

	// Files are the programs and scripts that the command runs, unless its user has named them.
	Files []string

	// Begins are the arguments of a command that begins a session, without the prompt.
	Begins []string

	// Unset are the variables of the daemon's environment that the command does not get.
	Unset []string

	// Fixed says that the user wrote the whole command: it does not depend on the session's start.
	Fixed bool

	// AnyFlags says that no flag of the agent restricts such a session: they need not be known.
	AnyFlags bool

	// PlanOnly says that the session stays in a mode in which the agent only reads and plans.
	PlanOnly bool

	// AskMode says that the session stays in a mode that asks before it does harm: without a person, it is refused.
	AskMode bool

	// Permission is what the session may do without asking, as far as the agent has modes.
	Permission resume.Permission

	// Unproven is why the start does not tell everything that restricted the session; empty: it does.
	Unproven string

	// Carried is what the command repeats of the session's own command line.
	Carried leash.Repeated

	// Models is what the command may use if the session's own model is overloaded.
	Models resume.Models

	// Optional reports whether a variable may be missing now: its provider is not used. nil: none may be missing.
	Optional func(variable string) bool

	// Inside says that the program enters the container or sandbox of the session.
	Inside bool

	// Unverifiable says that only the transcript tells whether the prompt arrived: the exit proves nothing.
	Unverifiable bool

	// Backup are files that the agent may lose when it runs: each is copied first, or nothing is run.
	Backup []string
}

// Skip is why nothing may be sent.
type Skip struct {
	Why   string
	Park  bool      // waiting does not fix it
	Tell  bool      // it may pass by itself, but a person should be told once
	Until time.Time // when to try again; zero: soon

	NoProgram bool // the agent's program is not found
}

// Feed is where a Follower reports to.
type Feed struct {
	// Observe applies observations in order; each has its Pos. Once it returns nil they are not lost.
	Observe func(ctx context.Context, observations []resume.Observation) error

	// LoadCursor loads the cursor stored under that name, which is the path of a file, also by an earlier daemon.
	LoadCursor func(name string) (json.RawMessage, bool)

	// StoreCursor stores how far the agent has read. It never reaches the disk before what precedes it.
	StoreCursor func(name string, cursor json.RawMessage)

	// Ready must be called once, when everything that already existed has been reported.
	Ready func()

	Log *slog.Logger
}

// Typing is a prompt that is typed into the terminal of the live process that holds the session.
type Typing struct {
	Process resume.Process // whose terminal it is
	Text    string         // one line
	Program string         // the command with which people start such a process

	// Judge evaluates the screen, before anything is typed and again before the prompt is sent.
	Judge func(screen string) ScreenState
}

// ScreenState is what a screen shows. Without Menu and Leave, it is a composer that waits for a prompt.
type ScreenState struct {
	Draft   string // the text in the composer, also if nothing may be typed
	Menu    bool   // a menu covers the composer, and Escape closes it without choosing
	Skip    *Skip  // nothing may be typed, and why
	Strange bool   // because the screen was not recognised
}
