package config

import (
	"slices"

	"resumed/internal/backoff"
	"resumed/internal/limit"
)

// defaultPolicy is the name of [backoff] itself.
const defaultPolicy = "default"

// Policy returns the policy of an agent's sessions that were stopped by a
// refusal of that class: the agent's, else the class's, else [backoff].
func (c Config) Policy(agent string, class limit.Class) backoff.Policy {
	if a := c.Agent(agent); a.Policy != "" {
		if p, ok := c.NamedPolicy(a.Policy); ok {
			return p
		}
	}
	for _, p := range c.Backoff.Policies {
		if slices.Contains(p.Classes, class) {
			return p.Policy
		}
	}
	return c.Backoff.Policy
}

// NamedPolicy returns the policy of that name: one of the file, else one that
// is built in. "default" is [backoff] as it is in force.
func (c Config) NamedPolicy(name string) (backoff.Policy, bool) {
	if name == defaultPolicy {
		return c.Backoff.Policy, true
	}
	for _, p := range c.Backoff.Policies {
		if p.Name == name {
			return p.Policy, true
		}
	}
	return backoff.Named(name)
}

// PolicyNames returns every name that NamedPolicy knows.
func (c Config) PolicyNames() []string {
	names := backoff.Names()
	for _, p := range c.Backoff.Policies {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}
