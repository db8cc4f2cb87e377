package deliver

import (
	"context"
	"log/slog"
	"time"

	"resumed/internal/agent"
	"resumed/internal/ownership"
	"resumed/internal/prompt"
	"resumed/internal/resume"
	"resumed/internal/runenv"
	"resumed/internal/runner"
	"resumed/internal/starts"
	"resumed/internal/terminal"
	"resumed/internal/terminal/shellpty"
	"resumed/internal/terminal/tmux"
)

// Options are what a Deliverer works with. All but HostLease and Machine are required.
type Options struct {
	StateDir  string   // outputs of commands and copies of transcripts are stored there
	LeaseDirs []string // where programs agree on which of them continues a session
	DryRun    bool     // report what would be sent, and send nothing

	Settings    func() Settings
	Engine      Engine
	Transcripts Transcripts

	// Sync returns when the decisions about these sessions are on disk; without keys, those about all
	// sessions. It fails if they cannot be written.
	Sync func(context.Context, ...resume.Key) error

	// HostLease takes the lease of a session that other hosts may continue too, or returns why it
	// cannot. It returns nil and nil if no other host can continue the session. If the function is nil,
	// there are no other hosts.
	HostLease func(context.Context, resume.Session) (HostLease, *resume.NotSent)

	Starts   *starts.Store // what processes were started with
	Machine  Machine       // nil: this one
	Stopping func() bool   // the daemon stops: transcripts are no longer read
	Log      *slog.Logger
}

// Settings are the user's settings for a delivery, as they are now.
type Settings struct {
	Prompts    prompt.Prompts
	Live       Live
	Timeout    time.Duration // one command may run this long; 0: no bound
	Stall      time.Duration // and be silent this long; 0: no bound
	Rules      resume.Rules
	Trust      ownership.Trust // whose files are trusted
	SameMode   bool            // a session whose start was not seen continues in the mode that its transcript states; false: a person must allow it
	ChangedEnv runenv.Changed  // what to do if a resume does not have a variable as its session had it
	Secrets    bool            // secrets of a session's environment are stored

	Agent func(name string) agent.Agent        // nil: it is not configured, or switched off
	Env   func(agent string) ([]string, error) // KEY=value, added for its runs
}

// Live is what to do with a session that is open in a live process.
type Live string

// The values of Live.
const (
	Type   Live = "type"   // the process is given the prompt
	Notify Live = "notify" // the session is reported to a person
	Ignore Live = "ignore" // nothing is done
)

// Engine owns the sessions.
type Engine interface {
	Apply(ctx context.Context, key resume.Key, ev resume.Event) (resume.Session, error)
	Session(ctx context.Context, key resume.Key) (resume.Session, error)
	Lookup(ctx context.Context, keys []resume.Key) ([]*resume.Session, error) // nil: it is not known
	Superseded(ctx context.Context, key resume.Key) (why string, err error)
}

// Transcripts reads what agents write.
type Transcripts interface {
	// ReadNew reads what is new about a session before it returns.
	ReadNew(ctx context.Context, session resume.Session) error

	// Await returns when all files of an agent have been read once.
	Await(ctx context.Context, agent string) error
}

// HostLease is a lease that keeps other hosts from continuing a session.
type HostLease interface {
	// Confirm checks that the lease is still valid. The prompt is sent within seconds after that.
	Confirm(ctx context.Context) error

	// Release lets other hosts continue the session.
	Release(ctx context.Context)
}

// Machine is where commands run and terminals are: this one, or a simulated one.
type Machine interface {
	// Start starts a command.
	Start(runner.Command) (Process, error)

	// Sees reports whether processes of an earlier daemon can be distinguished from others.
	Sees() bool

	// Find returns the living process with the mark, Adopt the one with that pid and start time, and
	// Answering any process with that pid.
	Find(mark string) (Process, bool)
	Adopt(resume.Process) (Process, bool)
	Answering(pid int, since time.Time) (Process, bool)

	// Left returns what a command wrote to its status file.
	Left(path string) runner.StatusFile

	// Pane returns the terminal that a process runs in.
	Pane(context.Context, resume.Process) (Pane, error)
}

// Process is a command that runs, or ran.
type Process interface {
	Stop(context.Context) error
	Identity() resume.Process
	Began() time.Time
	Bind(runner.Command)
	Wait(context.Context) runner.Result
}

// Pane is a terminal that can be read and typed into.
type Pane interface {
	String() string
	Screen(context.Context) (string, error)

	// Quiet returns an error if a person uses the terminal. From then on Type and Press return
	// terminal.ErrInUse as soon as one does. TakeBack deletes a text that was typed.
	Quiet(context.Context) error
	TakeBack(ctx context.Context, text string) error
	Type(ctx context.Context, text string) error
	Press(context.Context, terminal.Key) error
}

// terminals are the terminals that can be typed into.
var terminals = []terminal.Finder{tmux.Find, shellpty.Find}

type here struct{}

func (here) Start(cmd runner.Command) (Process, error)       { return runner.Start(cmd) }
func (here) Sees() bool                                      { return runner.CanIdentify() }
func (here) Find(mark string) (Process, bool)                { return runner.Find(mark) }
func (here) Adopt(process resume.Process) (Process, bool)    { return runner.Adopt(process) }
func (here) Left(path string) runner.StatusFile              { return runner.ReadStatusFile(path) }
func (here) Answering(pid int, at time.Time) (Process, bool) { return runner.FindByPID(pid, at) }

func (here) Pane(ctx context.Context, process resume.Process) (Pane, error) {
	return terminal.Find(ctx, process, terminals...)
}
