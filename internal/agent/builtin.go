package agent

import "time"

// Builtin is an agent that no user needs to describe: what its room tells the
// list of agents.
type Builtin struct {
	Name      string   // in configuration, status and metrics
	Title     string   // for people
	Headless  string   // how it is run without a terminal, for people; empty: exec cannot continue such runs
	Server    bool     // the user may name a server of it
	Variables []string // of the environment, that say where it keeps its sessions

	// New makes the agent.
	New func(Options) (Agent, error)

	// Plugin returns what makes the agent tell more than it writes by itself,
	// and where it belongs; nil: nothing does.
	Plugin func() (path, text string)
}

// Options says which installation of an agent is meant. The zero Options is the
// user's own.
type Options struct {
	Roots   []string       // homes, absolute; empty: the one that the agent takes by itself
	Command string         // the program's name or path; empty: it is looked for
	Server  string         // URL of a running server, for an agent that has one; empty: none
	Env     []string       // KEY=value, added for resumed runs
	Unseen  Unseen         // what is done about a session whose start nobody saw; empty: Narrow
	Grace   time.Duration  // a clock time this far in the past means now, not tomorrow
	Zone    *time.Location // of clock times that name none; nil means local
}
