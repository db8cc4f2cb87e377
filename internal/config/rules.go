package config

import (
	"path/filepath"
	"slices"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Rules returns the rules that the configuration asks for.
func (c Config) Rules() resume.Rules {
	rules := resume.Rules{
		Backoff:       c.Backoff.Policy,
		ByClass:       make(map[limit.Class]backoff.Policy),
		ByAgent:       make(map[string]backoff.Policy),
		Parallel:      make(map[string]bool),
		Margin:        c.Resume.Margin,
		MaxWait:       c.Resume.MaxWait,
		Settle:        c.Resume.Settle,
		Lookback:      c.Resume.Lookback,
		MaxWindows:    c.Resume.MaxWindows,
		Include:       byAnyName(c.Resume.Include),
		Exclude:       byAnyName(c.Resume.Exclude),
		MaxConcurrent: c.Resume.MaxConcurrent,
		Stagger:       c.Resume.Stagger,
		Order:         resume.Order(c.Resume.Order),
	}
	if c.Resume.Hours != (Hours{}) {
		// Hours are the user's, and many of the times come from records in UTC.
		rules.NextAllowed = func(t time.Time) time.Time { return c.Resume.Hours.Next(t.Local()) }
	}
	for _, class := range limit.Classes() {
		if policy := c.Policy("", class); policy != rules.Backoff {
			rules.ByClass[class] = policy
		}
	}
	for _, entry := range c.Agents {
		if entry.Kind == KindCustom {
			rules.Parallel[entry.Name] = true
		}
		if entry.Policy != "" {
			rules.ByAgent[entry.Name] = c.Policy(entry.Name, limit.None)
		}
	}
	return rules
}

// byAnyName returns the directories, and what they are without symbolic links:
// agents write down either.
func byAnyName(dirs []string) []string {
	all := slices.Clone(dirs)
	for _, dir := range dirs {
		if target, err := filepath.EvalSymlinks(dir); err == nil && target != filepath.Clean(dir) {
			all = append(all, target)
		}
	}
	return all
}
