// Package agent says what resumed needs from any agent: where it writes, what
// a line means, which process holds a session, and how that session is continued.
package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"time"

	"resumed/internal/leash"
	"resumed/internal/procfs"
	"resumed/internal/program"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// Agent knows one kind of coding agent. Its methods are called from several
// goroutines at once. It is a Reader or a Follower besides, by the way in which
// it keeps its sessions. Its room embeds Base, which answers for what an agent
// does not have.
type Agent interface {
	// Name is the agent's name in configuration, status and metrics.
	Name() string

	Runner
	Holder
	Account
	Meter
	Planner
}

// Runner knows the program of an agent.
type Runner interface {
	// Program returns the program that continues sessions of which nothing
	// else is known, or why it is not found.
	Program() (program.Found, error)

	// Identify returns the program that a live process of the agent runs, or
	// false where it is not known for certain. Sessions are often run with
	// another than the one that a service finds.
	Identify(pid int) (resume.Program, bool)

	// GoOn returns the line for a shell by which a person goes on with the session where
	// it works, or "": none is known.
	GoOn(resume.Session) string
}

// Holder knows the processes that hold sessions of an agent.
type Holder interface {
	// Owner returns the live process that holds the session, or nil. Where that
	// cannot be known its error is ErrUnseen.
	Owner(context.Context, resume.Session) (*resume.Owner, error)

	// Lives reports whether the very process lives.
	Lives(resume.Process) bool

	// NoProcess reports whether certainly no process lives that might hold any session
	// of the agent.
	NoProcess(context.Context) bool

	// Writer returns the process that has the session's transcript open to write into
	// it, of an agent of which nothing else tells which process holds a session; 0: none is known.
	Writer(context.Context, resume.Session) int

	// Unwatched returns the live processes of the agent whose sessions are not watched.
	Unwatched(context.Context) ([]UnwatchedProcess, error)

	// Killed reports whether the process that held the session, and is gone, is known
	// to have been killed, or to have crashed: its user did not end it.
	Killed(resume.Session, resume.Owner) bool
}

// Account knows what a session was started with, and whose allowance it uses.
type Account interface {
	// Origin returns what a live process of the agent was started with, as far
	// as that matters; nil: it is not known. Secrets are kept only if wanted.
	Origin(pid int, secrets bool) *resume.Origin

	// Variables are those of the environment that a resume must share with its
	// session.
	Variables() leash.Variables

	// Login returns a salted hash of the login that a run with that environment uses;
	// empty: it is not known.
	Login(environ []string, salt string) string
}

// Meter knows how large a session is, and how much of its allowances is used.
type Meter interface {
	// Weigh returns what a resume of the session has to read again, or false where
	// that is not known.
	Weigh(context.Context, resume.Session) (resume.Context, bool, error)

	// Usage returns what the agent knows of its account's allowances, or false where it
	// does not tell.
	Usage(context.Context, resume.Session) (resume.Usage, bool, error)

	// Readings returns what the agent was told of each window of its account's
	// allowances, as far as the session's files say; none: it does not tell.
	Readings(context.Context, resume.Session) ([]usage.Reading, error)
}

// Planner knows how a session is continued, and what came of that.
type Planner interface {
	// Plan says how the session is continued now. It looks at the transcript
	// again: what was true when the wait began may not be true any more.
	Plan(context.Context, resume.Session, Words) (Plan, error)

	// Talk says how the session is continued while owner holds it. Like Plan
	// it looks at everything again. It leaves a session that goes on by itself.
	// A Plan in which nothing is set says that there is no way to reach owner.
	Talk(ctx context.Context, session resume.Session, owner resume.Owner, words Words) (Plan, error)

	// Queued reports whether a prompt for the session waits to be taken by a
	// process.
	Queued(context.Context, resume.Session) (bool, error)

	// Denied returns what a resumed run of the session was refused at last, or
	// false where it was refused nothing, or went on without it. A run without a
	// terminal that needs a permission is refused it, and ends well as far as
	// its exit code goes.
	Denied(ctx context.Context, session resume.Session, run Ran) (Denial, bool, error)

	// Tidy removes what resumed runs of the session left behind that must not
	// stay. It is called before a run, and when it is over, by whichever daemon
	// sees that.
	Tidy(context.Context, resume.Session) error
}

// ErrUnseen is in the error of Owner where the holder cannot be known: a live process may
// hold the session, or none.
var ErrUnseen = procfs.ErrUnseen

// Reader is an Agent that writes its sessions into the lines of files.
type Reader interface {
	Agent

	// Sources returns the places where the agent writes.
	Sources() []Source

	// Observe says what one line means for its session, or false where it
	// means nothing. Equal lines give equal observations, whenever they are read.
	// It leaves Pos to the caller. Without an id it tells what happened to a
	// session that cannot be named: enough to explain it, not to continue it.
	Observe(Source, Line) (resume.Observation, bool)
}

// Follower is an Agent that keeps its sessions elsewhere.
type Follower interface {
	Agent

	// Follow reports what happens to the agent's sessions until ctx is done.
	// It must return soon after that.
	Follow(ctx context.Context, feed Feed) error

	// Look reports what is new about the session before it returns.
	Look(ctx context.Context, session resume.Session) error

	// Evidence returns the last thing that the file at path says about each of
	// its sessions.
	Evidence(path string) ([]Evidence, error)
}

// Words is the prompt that continues a session.
type Words struct {
	Prompt string
	Most   float64 // what it may cost, in US dollars, where that is bounded; 0: it is not
}

// Source is one place where an agent writes.
type Source struct {
	Account string // of the sessions found there
	Root    string // the directory that is watched
	Depth   int    // how many directory levels below Root are watched; 0: Root itself

	// Match says whether the file of that name, relative to Root, is one of
	// the agent's.
	Match func(rel string) bool

	// Sift is a cheap look at the bytes of a line, before anything is copied
	// or parsed.
	Sift func(line []byte) Weight

	// Shared says that one file may hold many sessions: its last line does not
	// tell the state of all of them.
	Shared bool
}

// Weight is what a line may be worth, judged by its bytes alone.
type Weight uint8

// The weights.
const (
	Nothing Weight = iota // cannot matter
	Moves                 // may be movement: of a run of such lines the last real one tells all
	Matters               // may be anything: it must be read
)

// Line is one complete line of a file.
type Line struct {
	Path    string    // of the file
	Offset  int64     // of the line's first byte
	Data    []byte    // without its newline; valid during the call only
	Cut     bool      // the line is longer than can be held: Data is its beginning
	ModTime time.Time // of the file, when the line was read

	// Before is what of the file right before the line is in memory anyway, from the
	// beginning of a line on; valid during the call only. LinesBefore reads it.
	Before []byte

	// File is the file, where it is open anyway; nil: it is not. To be read at offsets, and during the
	// call only.
	File *os.File
}

// Plan is how a session is continued. One field is set; in the answer of Talk it
// may be none.
type Plan struct {
	Run   *Command
	Type  *Typing
	Send  *Sending
	Leave *Leave
}

// Command is a program that continues a session without a terminal.
type Command struct {
	Argv []string // Argv[0] is looked up in PATH
	Dir  string   // an existing directory
	Env  []string // KEY=value, added to the daemon's own

	// Begins are the arguments of one that begins a session, without the prompt.
	Begins []string

	// Unset are the variables of the daemon's own that it does not get.
	Unset []string

	// Carried is what it repeats of the session's own command line.
	Carried leash.Carried

	// Models is what it may go on with where the session's own model is overloaded.
	Models resume.Models

	// Spare reports whether the session does without a variable that it had and that
	// is not set now: it is of a provider that the session does not ask. nil: it
	// does without none.
	Spare func(variable string) bool

	// Inside says that the program is the way into the world that the session
	// lived in, where that is another one than the daemon's.
	Inside bool

	// Unverifiable says that the command hands the prompt to the process that holds
	// the session: its end proves nothing, and once it is gone only the transcript
	// tells whether it did so.
	Unverifiable bool

	// Keep are files that the agent itself may lose when it runs: each is
	// copied aside before, and nothing is run where that cannot be done.
	Keep []string
}

// Leave says why nothing may be sent.
type Leave struct {
	Why   string
	Park  bool      // waiting does not fix it
	Tell  bool      // it may pass, but a person should know, once
	Until time.Time // when to look again; zero: soon
}

// Feed is what a Follower reports to.
type Feed struct {
	// See applies observations, in order; each has its Pos. When it has returned
	// nil they will not be lost.
	See func(ctx context.Context, observations []resume.Observation) error

	// Kept returns what was kept under that name, also by an earlier daemon.
	Kept func(name string) (json.RawMessage, bool)

	// Keep keeps how far the agent has read. It is never on disk before what
	// was seen ahead of it.
	Keep func(name string, cursor json.RawMessage)

	// Ready is to be called once, when all that was there was reported.
	Ready func()

	Log *slog.Logger
}

// Typing is a prompt that is typed into the terminal of the live process that
// holds the session.
type Typing struct {
	Process resume.Process // whose terminal it is
	Text    string         // one line
	Program string         // what people start such a process by

	// Judge says what the terminal's screen shows now. It is asked before
	// anything is typed, and again before the prompt is sent.
	Judge func(screen string) Sight
}

// Sending is a prompt that is sent to the process that holds the session, by no
// program and no terminal.
type Sending struct {
	To   string // whom, for people
	Text string

	// Do sends it, within a time of its own. It returns a *NotSentError where
	// nothing was sent for certain; after any other error that is not known.
	Do func(context.Context) error
}

// NotSentError is why a Sending took no effect.
type NotSentError struct {
	Why  string
	Park bool // waiting does not fix it
}

// Error returns why nothing was sent.
func (e *NotSentError) Error() string { return e.Why }

// Sight is what a screen shows. With neither Menu nor Leave it is a composer
// that waits for a prompt.
type Sight struct {
	Draft   string // the text in the composer
	Menu    bool   // a menu covers the composer, and Escape closes it without choosing
	Leave   *Leave // nothing may be typed, and why
	Strange bool   // because the screen was not recognised
}
