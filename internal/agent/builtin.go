package agent

import (
	"time"

	"resumed/internal/usage"
)

// Builtin is an agent that no user needs to describe: what its room tells the
// list of agents.
type Builtin struct {
	Name      string   // in configuration, status and metrics
	Title     string   // for people
	Headless  string   // how it is run without a terminal, for people; empty: exec cannot continue such runs
	Server    bool     // the user may name a server of it
	Models    bool     // its program goes on with another model by itself, where one is named
	OwnKey    string   // the variable by which its program takes a key of its user's own; empty: it cannot be bounded what that costs
	Variables []string // of the environment, that say where it keeps its sessions
	Remedies  Remedies // what a person does in it

	// New makes the agent.
	New func(Options) (Agent, error)

	// Plugin returns what makes the agent tell more than it writes by itself,
	// and where it belongs; nil: nothing does.
	Plugin func() (path, text string)

	// StatusLine reads what the agent gives to the command of its status line: the
	// session, and what its account was told of its allowances; nil: it has none.
	StatusLine func(said []byte, now time.Time) (session string, readings []usage.Reading)

	// Hook is how the agent calls a program of others when something happens to a
	// session; nil: it does not.
	Hook *Hook
}

// Hook is how an agent calls a program when something happens to a session.
type Hook struct {
	// Read returns which session is meant by what the agent says, on the standard
	// input of the program or as its last argument, and the transcript of that
	// session where it says so. Whatever else it says is left alone.
	Read func(said []byte) (session, transcript string)

	// File returns the file of settings in which the agent finds the program.
	File func() string

	// Add returns settings that call program, a resumed, and are the same in every other
	// byte; empty settings are those of a file that is not there. version is what the
	// agent says of itself, as far as it is known. The error says what is wrong with them.
	Add func(settings []byte, program, version string) ([]byte, error)

	// Remove returns settings without any call of a resumed: what Add was given, where
	// nothing else has changed them.
	Remove func(settings []byte) ([]byte, error)

	// Calls returns the resumed that settings call; "": none.
	Calls func(settings []byte) string
}

// Remedies are what a person does in an agent where waiting does not help, as phrases
// for a sentence. What is empty is said in general words.
type Remedies struct {
	SignIn  string // "run claude and type /login"
	Pay     string // "raise the spend limit at …"
	Shorten string // "/compact": what makes a conversation that is too long shorter
}

// Options says which installation of an agent is meant. The zero Options is the
// user's own.
type Options struct {
	Roots   []string       // homes, absolute; empty: the one that the agent takes by itself
	Command string         // the program's name or path; empty: it is looked for
	Server  string         // URL of a running server, for an agent that has one; empty: none
	Env     []string       // KEY=value, added for resumed runs
	Model   string         // what a resume may go on with where the session's own is overloaded; empty: nothing else
	Unseen  Unseen         // what is done about a session whose start was not seen; empty: Narrow
	Grace   time.Duration  // a clock time this far in the past means now, not tomorrow
	Zone    *time.Location // of clock times that name none; nil means local
}
