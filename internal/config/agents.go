package config

import "strings"

// Known are the built-in agents. An entry with such a name changes the agent, and does not describe a
// new one.
type Known []Builtin

// Builtin is an agent that works without an entry.
type Builtin struct {
	Name   string
	Server bool // it can be reached through a server that its entry may name
	Models bool // its program can change to another model by itself
	OwnKey bool // it can continue with the user's own key, count the cost, and stop at a limit
}

// names returns the names of the agents for which is returns true.
func (k Known) names(is func(Builtin) bool) []string {
	var names []string
	for _, b := range k {
		if is(b) {
			names = append(names, b.Name)
		}
	}
	return names
}

// Agent returns the entry of an agent. An agent without one is enabled.
func (c Config) Agent(name string) Agent {
	for _, a := range c.Agents {
		if a.Name == name {
			return a
		}
	}
	return Agent{Name: name, Enabled: true}
}

// Failovers describes, by agent, the fallback model or own key with which sessions may continue.
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
