package config

import "strings"

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

	// OwnKeyFile holds the user's own key, with which a session goes on after a usage
	// limit where they say so, each time; "": none does. Budget is what that may cost.
	OwnKeyFile string `toml:"own_key_file"`
	Budget     string `toml:"budget"`

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
	OwnKey bool // it goes on with a key of its user's own, counts what that costs, and stops at a sum
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
		if !a.Enabled {
			continue
		}
		var words []string
		if a.FallbackModel != "" {
			words = append(words, "after an overload a resume may use the model "+a.FallbackModel+" if the session's own is still overloaded (fallback_model)")
		}
		if a.OwnKeyFile != "" {
			words = append(words, "after a usage limit you can have a session go on with your own key (own_key_file), for at most "+a.Budget+"; never without `resumed retry SESSION --own-key`")
		}
		if len(words) > 0 {
			said[a.Name] = strings.Join(words, "; ")
		}
	}
	return said
}
