package config

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"resumed/internal/backoff"
	"resumed/internal/limit"
)

// Backoff is the policy of every wait that nothing else is said about, and the
// policies that have a name.
type Backoff struct {
	backoff.Policy
	Policies []NamedPolicy `toml:"policy"`
}

// NamedPolicy is a policy for some classes, or for whoever names it.
type NamedPolicy struct {
	Name    string        `toml:"name"`
	Classes []limit.Class `toml:"classes"`
	backoff.Policy
}

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
	if p := c.Backoff.Policy; class == limit.Unknown {
		if p.MaxRetries == 0 || p.MaxRetries > unknownTries {
			p.MaxRetries = unknownTries
		}
		return p
	}
	return c.Backoff.Policy
}

// outagePolicy is the name of the policy of sessions whose provider cannot be
// reached, or does not answer.
const outagePolicy = "outage"

// SessionPolicy is Policy for what the daemon looks after: an outage is ridden out,
// unless the file says otherwise of its class.
func (c Config) SessionPolicy(agent string, class limit.Class) backoff.Policy {
	named := func(p NamedPolicy) bool { return slices.Contains(p.Classes, class) }
	if class.Outage() && c.Agent(agent).Policy == "" && !slices.ContainsFunc(c.Backoff.Policies, named) {
		p, _ := c.NamedPolicy(outagePolicy)
		return p
	}
	return c.Policy(agent, class)
}

// unknownTries is how often a failure that nobody understands is tried again
// before a person is told, unless a policy of the file says otherwise.
const unknownTries = 2

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

func (b Backoff) validate(found *problems) {
	found.policy("backoff", b.Policy, nil)
	names, classes := map[string]int{}, map[limit.Class]string{}
	inherited := fieldErrors(b.Policy)
	for i, p := range b.Policies {
		key := index("backoff.policy", i)
		found.policy(key, p.Policy, inherited)
		if found.name(key+".name", p.Name) {
			found.check(p.Name != defaultPolicy, key+".name", p.Name, `must be another name: "default" is [backoff] itself`)
			first, taken := names[p.Name]
			found.check(!taken, key+".name", p.Name, "must be unique: backoff.policy[%d] has it too", first)
			names[p.Name] = i
		}
		for j, class := range p.Classes {
			at := index(key+".classes", j)
			found.check(class != limit.None && class != limit.Cancelled, at, class, "is never retried, so no policy can apply to it")
			other, taken := classes[class]
			found.check(!taken, at, class, "must be in one policy only: %q has it too", other)
			classes[class] = p.Name
		}
	}
}

// policy adds what is wrong with a policy. What it inherited is reported where
// it stands, not once more.
func (ps *problems) policy(key string, p backoff.Policy, inherited map[string]*backoff.FieldError) {
	errs, values := fieldErrors(p), map[string]any{}
	for key, f := range fieldsOf(reflect.TypeFor[backoff.Policy]()) {
		values[key] = scalar(reflect.ValueOf(p).FieldByIndex(f.Index))
	}
	for _, name := range slices.Sorted(maps.Keys(errs)) {
		e := errs[name]
		if was, ok := inherited[name]; ok && *was == *e {
			continue
		}
		want := e.Want
		switch e.Field {
		case "strategy":
			want = oneOf(string(p.Strategy), words(backoff.Strategies()))
		case "jitter_mode":
			want = oneOf(string(p.JitterMode), words(backoff.JitterModes()))
		}
		ps.add(key+"."+e.Field, values[e.Field], "%s", want)
	}
}

func words[T ~string](all []T) []string {
	list := make([]string, len(all))
	for i, w := range all {
		list[i] = string(w)
	}
	return list
}

func fieldErrors(p backoff.Policy) map[string]*backoff.FieldError {
	found := map[string]*backoff.FieldError{}
	if joined, ok := p.Validate().(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			if e, ok := errors.AsType[*backoff.FieldError](err); ok {
				found[e.Field] = e
			}
		}
	}
	return found
}
