package deliver

import (
	"context"
	"log/slog"
	"time"

	"resumed/internal/agent"
	"resumed/internal/ownership"
	"resumed/internal/resume"
)

// Options are what a Deliverer works with. All but HostLease, Budget and Machine are required.
type Options struct {
	StateDir  string   // outputs of commands and copies of transcripts are stored there
	LeaseDirs []string // where programs agree on which of them looks after a session
	DryRun    bool     // report what would be sent, and send nothing

	Settings    func() Settings
	Engine      Engine
	Transcripts Transcripts

	// Sync returns when the decisions about these sessions are on disk, of all if none is named. It fails
	// if the disk refuses.
	Sync func(context.Context, ...resume.Key) error

	// HostLease makes this host the one that looks after a session which other hosts may continue
	// as well, or says why not; neither if no other host can. nil: there are no others.
	HostLease func(context.Context, resume.Session) (HostLease, *resume.NotSent)

	Budget   Budget      // of the user's own keys; nil: none is ever used
	Machine  Machine     // nil: this one
	Stopping func() bool // the daemon stops: transcripts are not read any longer
	Log      *slog.Logger
}

// Settings are the user's settings for a delivery, as they are now.
type Settings struct {
	Prompt  string
	Live    Live
	Timeout time.Duration // one command may run this long; 0: no bound
	Stall   time.Duration // and be silent this long; 0: no bound
	Rules   resume.Rules
	Trust   ownership.Trust // whose files are trusted
	Secrets bool            // those of a session's environment are stored

	Agent func(name string) agent.Agent        // nil: it is not configured, or switched off
	Env   func(agent string) ([]string, error) // KEY=value, added for its runs
}

// Live is what is done about a session that is open in a live process.
type Live string

// What may be done.
const (
	Type   Live = "type"   // the process is given the prompt
	Notify Live = "notify" // a person is told
	Ignore Live = "ignore" // nothing
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
	// Look reads what is new about a session before it returns.
	Look(ctx context.Context, session resume.Session) error

	// Await returns when all files of an agent were read once.
	Await(ctx context.Context, agent string) error
}

// HostLease says that no other host continues a session.
type HostLease interface {
	// Confirm makes sure of it. The prompt is sent within seconds of that.
	Confirm(ctx context.Context) error

	// Release lets other hosts have the session.
	Release(ctx context.Context)
}

// Budget is what runs with the user's own keys may cost. Its reasons are for people.
type Budget interface {
	// Left returns what a run of the session may cost now, in US dollars, or why none may begin.
	Left(session resume.Session) (most float64, why string)

	// SetAside takes that much out of what is left before the run of that mark begins, or
	// says why not. had is what the session has cost until then.
	SetAside(session resume.Session, mark string, most float64, had resume.Cost) (why string)

	// Settle notes what the session has cost when the run is over, if that is known, and
	// says why the run was stopped, if that was because of its cost.
	Settle(session resume.Session, mark string, has resume.Cost, known, failed bool) (why string)

	// Return gives back what was set aside for a run that never began.
	Return(mark string)

	// Offers reports whether sessions of the agent may continue with the user's own key.
	Offers(agent string) bool

	// Key returns the variable for the key, and the key. It is read anew each time.
	Key(agent string) (variable, key string, err error)
}

// payable is an agent that continues with a key of its user's own, counts what that costs, and stops
// at a sum.
type payable interface {
	// Cost returns what the session has cost until now, by the agent's own count; false:
	// it has not counted.
	Cost(ctx context.Context, s resume.Session) (resume.Cost, bool, error)

	// Unpayable says why a run of the session in that directory and environment would not use
	// such a key, or would show it to others; empty: nothing is against it.
	Unpayable(s resume.Session, dir string, environ []string) string
}
