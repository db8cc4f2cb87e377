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

	// Plugin is resumed's plugin for the agent; nil: there is none.
	Plugin *Plugin

	// StatusLine parses what the agent passes to its status line command: the session, and the
	// state of its account's allowances; nil: it has none.
	StatusLine func(said []byte, now time.Time) (session string, readings []usage.Reading)
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
