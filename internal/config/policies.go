package config

import (
	"path/filepath"
	"slices"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Policy returns the policy for an agent's sessions that were stopped by an error of that class: the
// agent's, else the class's, else [backoff].
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
	p := c.Backoff.Policy
	if class == limit.Unknown && (p.MaxRetries == 0 || p.MaxRetries > unknownTries) {
		p.MaxRetries = unknownTries
	}
	return p
}

// outagePolicy is the name of the policy for sessions with a provider that cannot be reached or does not
// answer, unless the user has set how long to wait.
const outagePolicy = "outage"

// policyOf returns the policy of the daemon for the sessions that were stopped by an error of that
// class, if their agent has none: it waits until an outage ends.
func (c Config) policyOf(class limit.Class) resume.Policy {
	ofUser := false
	for _, p := range c.Backoff.Policies {
		if slices.Contains(p.Classes, class) {
			return resume.Policy{Name: p.Name, Policy: p.Policy}
		}
		ofUser = ofUser || p.Name == outagePolicy
	}
	if class.Outage() && (ofUser || !c.Backoff.Given) {
		outage, _ := c.NamedPolicy(outagePolicy)
		return resume.Policy{Name: outagePolicy, Policy: outage}
	}
	return resume.Policy{Name: resume.DefaultPolicy, Policy: c.Policy("", class)}
}

// unknownTries is how often an unknown failure is tried again before it is reported, unless a policy of
// the file says otherwise.
const unknownTries = 2

// NamedPolicy returns the policy of that name: one of the file, else a built-in one. "default" is
// [backoff] as configured.
func (c Config) NamedPolicy(name string) (backoff.Policy, bool) {
	if name == resume.DefaultPolicy {
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

// Texts returns words of any type as strings.
func Texts[T ~string](all []T) []string {
	list := make([]string, len(all))
	for i, w := range all {
		list[i] = string(w)
	}
	return list
}

// leastQuiet is the minimum time for which a session without an interruption is stored: a session that
// moves again after it was dropped looks like a new one.
const leastQuiet = 24 * time.Hour

// Rules returns the rules for resumes.
func (c Config) Rules() resume.Rules {
	rules := resume.Rules{
		Backoff:       c.Backoff.Policy,
		ByClass:       make(map[limit.Class]resume.Policy),
		ByAgent:       make(map[string]resume.Policy),
		Parallel:      make(map[string]bool),
		Margin:        c.Resume.Margin,
		MaxWait:       c.Resume.MaxWait,
		Overdue:       c.Resume.Overdue,
		Settle:        c.Resume.Settle,
		Lookback:      c.Resume.Lookback,
		MaxWindows:    c.Resume.MaxWindows,
		Include:       byAnyName(c.Resume.Include),
		Exclude:       byAnyName(c.Resume.Exclude),
		Newcomers:     resume.Newcomers(c.Resume.Newcomer),
		Closed:        resume.OnClosed(c.Resume.Closed),
		CutOff:        resume.OnCutOff(c.Resume.CutOff),
		Silent:        c.Resume.Silent,
		MaxConcurrent: c.Resume.MaxConcurrent,
		Stagger:       c.Resume.Stagger,
		Order:         resume.Order(c.Resume.Order),
		MaxColdTokens: int64(c.Resume.MaxColdTokens),
		OnCold:        resume.OnCold(c.Resume.OnCold),
		WeeklyReserve: c.Resume.WeeklyReserve,
		KeepEnded:     c.History.EndedKeep,
		KeepQuiet:     max(c.History.EndedKeep, leastQuiet),
	}
	if c.Resume.Hours != (Hours{}) {
		// Hours are in the user's time zone, and many times come from records in UTC.
		rules.NextAllowed = func(t time.Time) time.Time { return c.Resume.Hours.Next(t.Local()) }
	}
	for _, p := range c.Resume.Priority {
		for _, dir := range byAnyName([]string{p.Dir}) {
			rules.Priority = append(rules.Priority, resume.Priority{Dir: dir, Rank: p.Rank})
		}
	}
	for _, class := range limit.Classes() {
		if policy := c.policyOf(class); policy != rules.PolicyFor("", class) {
			rules.ByClass[class] = policy
		}
	}
	for _, entry := range c.Agents {
		if entry.Kind == KindCustom {
			rules.Parallel[entry.Name] = true
		}
		if entry.Policy != "" {
			rules.ByAgent[entry.Name] = resume.Policy{Name: entry.Policy, Policy: c.Policy(entry.Name, limit.None)}
		}
	}
	return rules
}

// byAnyName returns the directories, and their paths without symbolic links: agents record either.
func byAnyName(dirs []string) []string {
	all := slices.Clone(dirs)
	for _, dir := range dirs {
		if target, err := filepath.EvalSymlinks(dir); err == nil && target != filepath.Clean(dir) {
			all = append(all, target)
		}
	}
	return all
}
