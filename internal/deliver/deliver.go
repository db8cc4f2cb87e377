// Package deliver carries a resume from due to delivered: it takes the session's
// lease, looks at everything again, asks the agent how the session is continued,
// and sends the prompt in one of four ways. No other room acts on the world for a
// session.
package deliver

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"resumed/internal/agent"
	"resumed/internal/ownership"
	"resumed/internal/resume"
)

// Engine is who owns the sessions.
type Engine interface {
	Apply(ctx context.Context, key resume.Key, ev resume.Event) (resume.Session, error)
	Session(ctx context.Context, key resume.Key) (resume.Session, error)
	Standing(ctx context.Context, keys []resume.Key) ([]*resume.Session, error) // nil: it is not known
	Superseded(ctx context.Context, key resume.Key) (why string, err error)
}

// Transcripts is who reads what agents write.
type Transcripts interface {
	// Look reads what is new about a session before it returns.
	Look(ctx context.Context, session resume.Session) error

	// Await returns when all that lay in the files of an agent was read.
	Await(ctx context.Context, agent string) error
}

// Live is what is done about a session whose process lives.
type Live string

// What may be done.
const (
	Type   Live = "type"   // the process is given the prompt
	Notify Live = "notify" // a person is told
	Ignore Live = "ignore" // nothing
)

// Settings are what a delivery goes by, as the user wants it now.
type Settings struct {
	Prompt  string
	Live    Live
	Timeout time.Duration // one command may run this long; 0: no bound
	Stall   time.Duration // and be silent this long; 0: no bound
	Leaves  bool          // what its user closed after it was stopped is left alone

	Agent    func(name string) agent.Agent        // nil: it is not configured, or switched off
	Env      func(agent string) ([]string, error) // KEY=value, added for its runs
	Secrets  bool                                 // those of a session's environment are kept
	Excluded func(directory string) (why string)  // empty: it may be touched
	TooCold  func(resume.Session) (why string)    // it would read too much anew; empty: it may go on
	Reserved func(resume.Session) string          // what is left of the week is for people; empty: it may go on. nil: nothing is
	Trust    ownership.Trust                      // who may have written what is obeyed
}

// Options are what a Deliverer works with. All but Hold, Purse and Machine are required.
type Options struct {
	StateDir  string   // outputs of commands and copies of transcripts are kept there
	LeaseDirs []string // where it is agreed who looks after a session
	DryRun    bool     // say what would be sent, and send nothing

	Settings    func() Settings
	Engine      Engine
	Transcripts Transcripts

	// Sync returns when what was decided is on disk, and an error where that cannot
	// be: of those sessions, and of all where the disk refuses.
	Sync func(context.Context, ...resume.Key) error

	// Hold makes this host the one that looks after a session that others may continue
	// as well, or says why not; neither where no other can. nil: there are no others.
	Hold func(context.Context, resume.Session) (Hold, *resume.NotSent)

	Purse    Purse       // what the user's own keys cost; nil: none is ever used
	Machine  Machine     // nil: this one
	Stopping func() bool // the daemon stops: transcripts are not read any longer
	Log      *slog.Logger
}

// Deliverer sends resumes and looks after the commands that run.
type Deliverer struct {
	opts      Options
	log       *slog.Logger
	machine   Machine
	leases    *leases
	shelves   shelves
	commands  commands
	glances   *glances
	witnesses *witnesses
	holders   *holders
	firsts    firsts
}

// New returns a deliverer. sessions are those of an earlier daemon: the processes
// of stopped ones are worth a look. What it began, Recover finds out about.
func New(opts Options, sessions []resume.Session) *Deliverer {
	d := &Deliverer{
		opts: opts, log: opts.Log, machine: cmp.Or[Machine](opts.Machine, here{}), leases: newLeases(opts.LeaseDirs), shelves: shelves{stateDir: opts.StateDir},
		commands: commands{running: make(map[string]stopper)}, glances: &glances{seen: make(map[resume.Key]int)}, witnesses: newWitnesses(), holders: newHolders(sessions),
	}
	for _, s := range sessions {
		if s.Interrupted() {
			d.witnesses.call(s.Key, true)
		}
	}
	return d
}

// report applies what became of the resume that the session is in.
func (d *Deliverer) report(ctx context.Context, session resume.Session, ev resume.Event) {
	switch known := ev.(type) {
	case nil:
		return
	case resume.NotSent:
		known.Mark = session.Run.Mark
		ev = known
	case resume.Ended:
		known.Mark = session.Run.Mark
		ev = known
	}
	d.apply(ctx, session.Key, ev)
}

// apply applies an event to a session. That the daemon stops meanwhile is no
// trouble: what it knows is on disk.
func (d *Deliverer) apply(ctx context.Context, key resume.Key, ev resume.Event) {
	if _, err := d.opts.Engine.Apply(ctx, key, ev); err != nil && ctx.Err() == nil {
		d.log.Error("an event could not be applied", "session", key.ID, "agent", key.Agent, "err", err)
	}
}
