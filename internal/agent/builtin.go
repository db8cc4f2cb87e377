package agent

import (
	"time"

	"resumed/internal/usage"
)

// Builtin is an entry in the list of agents that users need not describe.
type Builtin struct {
	Name      string   // in configuration, status and metrics
	Title     string   // for people
	Headless  string   // how it is run without a terminal, for people; empty: exec cannot continue such runs
	Server    bool     // the user may configure the URL of its server
	Models    bool     // its program switches to another model by itself, if one is named
	OwnKey    string   // the variable with which its program takes the user's own API key; empty: the cost cannot be bounded
	Variables []string // of the environment, that say where it stores its sessions
	Remedies  Remedies // what a person does in it

	// New makes the agent.
	New func(Options) (Agent, error)

	// Plugin returns a plugin with which the agent reports more than it writes by itself, and
	// the path to install it at; nil: there is none.
	Plugin func() (path, text string)

	// StatusLine parses what the agent passes to its status line command: the session, and the
	// state of its account's allowances; nil: it has none.
	StatusLine func(said []byte, now time.Time) (session string, readings []usage.Reading)

	// Hook is how the agent calls another program when something happens to a session; nil: it
	// cannot.
	Hook *Hook
}

// Hook is how an agent calls a program when something happens to a session.
type Hook struct {
	// Read returns the session in the hook's input, and its transcript if it is named. The
	// input comes on the standard input or as the last argument. Other fields are ignored.
	Read func(said []byte) (session, transcript string)

	// File returns the settings file in which the agent finds the hook.
	File func() string

	// Add returns settings that call program, a resumed, with every other byte unchanged; empty
	// settings are those of a missing file. version is the agent's version, if it is known. The
	// error says what is wrong with the settings.
	Add func(settings []byte, program, version string) ([]byte, error)

	// Remove returns settings without any call of a resumed: the ones passed to Add, if nothing
	// else has changed them.
	Remove func(settings []byte) ([]byte, error)

	// Calls returns the resumed that settings call; "": none.
	Calls func(settings []byte) string
}

// Remedies are what a person does in an agent if waiting does not help, as phrases for a
// sentence. An empty one is replaced by general words.
type Remedies struct {
	SignIn  string // "run claude and type /login"
	Pay     string // "raise the spend limit at …"
	Shorten string // "/compact": what shortens a conversation that is too long
}

// Options selects an installation of an agent. The zero Options is the user's own.
type Options struct {
	Roots   []string       // homes, absolute; empty: the agent's default
	Command string         // the program's name or path; empty: it is searched
	Server  string         // URL of a running server, for an agent that has one; empty: none
	Env     []string       // KEY=value, added for resumed runs
	Model   string         // what a resume may use if the session's own model is overloaded; empty: nothing else
	Grace   time.Duration  // a clock time this far in the past means now, not tomorrow
	Zone    *time.Location // for clock times without a zone; nil means local
}
