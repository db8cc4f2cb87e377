package config

import (
	"path/filepath"
	"slices"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// leastQuiet is how long a session that was never interrupted is remembered at
// least: one that moves again after it was forgotten must be told from one that
// has just begun.
const leastQuiet = 24 * time.Hour

// Rules returns the rules that the configuration asks for.
func (c Config) Rules() resume.Rules {
	rules := resume.Rules{
		Backoff:       c.Backoff.Policy,
		ByClass:       make(map[limit.Class]backoff.Policy),
		ByAgent:       make(map[string]backoff.Policy),
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
		// Hours are the user's, and many of the times come from records in UTC.
		rules.NextAllowed = func(t time.Time) time.Time { return c.Resume.Hours.Next(t.Local()) }
	}
	for _, p := range c.Resume.Priority {
		for _, dir := range byAnyName([]string{p.Dir}) {
			rules.Priority = append(rules.Priority, resume.Priority{Dir: dir, Rank: p.Rank})
		}
	}
	for _, class := range limit.Classes() {
		if policy := c.SessionPolicy("", class); policy != rules.Backoff {
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
