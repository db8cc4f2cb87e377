package config

import "strings"

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
