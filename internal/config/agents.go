package config

// KindCustom is the kind of an agent that the user describes.
const KindCustom = "custom"

// Agent changes a built-in agent, or describes one of the user's own.
type Agent struct {
	Name    string `toml:"name"`
	Kind    string `toml:"kind"` // "" for a built-in agent, else KindCustom
	Enabled bool   `toml:"enabled"`
	Policy  string `toml:"policy"`  // "": by class
	Account string `toml:"account"` // of a fleet: whose allowance it uses; "": as its files say

	Env     []string `toml:"env"` // KEY=value
	EnvFile string   `toml:"env_file"`

	// Of built-in agents only.
	Roots   []string `toml:"roots"`   // none: where the agent writes by itself
	Command string   `toml:"command"` // "": the agent's own name
	Server  string   `toml:"server"`

	// FallbackModel is what a resume may go on with where the session's own model is
	// overloaded; "": nothing else.
	FallbackModel string `toml:"fallback_model"`

	// Of custom agents only.
	Files    []string `toml:"files"`
	Session  string   `toml:"session"`
	Cwd      string   `toml:"cwd"`
	About    string   `toml:"about"`   // a file that tells where a session works, with {session}; "": none
	Program  []string `toml:"program"` // who holds a session while it runs in its directory, and words of runs without a person; none: nobody knows
	Limit    []string `toml:"limit"`
	Progress []string `toml:"progress"`
	Resume   []string `toml:"resume"`
	Start    []string `toml:"start"` // begins a session for the queue; none: it cannot
}

// Known are the agents that are built in: their entries change them, and
// describe nothing.
type Known []Builtin

// Builtin is an agent that needs no entry.
type Builtin struct {
	Name   string
	Server bool // it can be reached through a server, which its entry may name
	Models bool // its program can go on with another model by itself
}

// names returns those of the agents that is picks.
func (k Known) names(is func(Builtin) bool) []string {
	var names []string
	for _, b := range k {
		if is(b) {
			names = append(names, b.Name)
		}
	}
	return names
}

// Agent returns what is said about the agent of that name. One without an entry
// is enabled.
func (c Config) Agent(name string) Agent {
	for _, a := range c.Agents {
		if a.Name == name {
			return a
		}
	}
	return Agent{Name: name, Enabled: true}
}

// Failovers says in words what sessions may go on with besides what they have, as far as
// the user wrote it down.
func (c Config) Failovers() map[string]string {
	said := make(map[string]string)
	for _, a := range c.Agents {
		if a.Enabled && a.FallbackModel != "" {
			said[a.Name] = "after an overload a resume may use the model " + a.FallbackModel + " if the session's own is still overloaded (fallback_model)"
		}
	}
	return said
}
