// Package config reads file and environment into one checked, plain value, and
// watches the file. A Config is complete: every key has its value, whether it
// was written or not, and nobody changes it after Load returned it.
package config

import (
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/ownership"
	"resumed/internal/resume"
)

// Config is all that a user can say. Equal files give configurations that are
// equal by reflect.DeepEqual: a list without entries is always nil.
type Config struct {
	Log     Log     `toml:"log"`
	Resume  Resume  `toml:"resume"`
	Backoff Backoff `toml:"backoff"`
	Agents  []Agent `toml:"agent"`
	Notify  Notify  `toml:"notify"`
	History History `toml:"history"`
	HTTP    HTTP    `toml:"http"`
	Fleet   Fleet   `toml:"fleet"`
}

// Log says how much is logged, and in which form.
type Log struct {
	Level  string `toml:"level"`  // debug | info | warn | error
	Format string `toml:"format"` // auto | text | json
}

// SlogLevel returns Level as the logger wants it.
func (l Log) SlogLevel() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // Load has checked it
	return level
}

// What is done with a session whose process lives.
const (
	LiveType   = "type"   // its prompt is typed or queued
	LiveNotify = "notify" // a person is told
	LiveIgnore = "ignore"
)

// What is done about a session that may do things without asking, where nobody saw
// what it was started with.
const (
	UnseenNarrow = "narrow"    // it goes on in the next mode that asks
	UnseenSame   = "same_mode" // it goes on in the mode that its transcript tells
	UnseenPark   = "park"      // a person is asked
)

// What is kept of the environment that a session was started in.
const (
	KeepNames   = "names"   // of secrets only what they are called, and a hash
	KeepSecrets = "secrets" // all of it
)

// Who goes first when several sessions are due.
const (
	OldestFirst = "oldest"
	NewestFirst = "newest"
)

// Resume says when and how interrupted sessions are continued.
type Resume struct {
	Prompt        string        `toml:"prompt"`
	Margin        time.Duration `toml:"margin"`   // 0: none
	Grace         time.Duration `toml:"grace"`    // 0: none
	MaxWait       time.Duration `toml:"max_wait"` // 0: no bound
	Overdue       time.Duration `toml:"overdue"`  // 0: nobody is asked
	Settle        time.Duration `toml:"settle"`   // 0: none
	Stall         time.Duration `toml:"stall"`    // 0: no bound
	Timeout       time.Duration `toml:"timeout"`  // 0: no bound
	Lookback      time.Duration `toml:"lookback"`
	MaxConcurrent int           `toml:"max_concurrent"`
	MaxWindows    int           `toml:"max_windows"`
	Stagger       time.Duration `toml:"stagger"` // 0: none
	Live          string        `toml:"live"`
	Unseen        string        `toml:"unseen"`
	KeepEnv       string        `toml:"keep_env"`
	Newcomer      string        `toml:"newcomer"`
	Closed        string        `toml:"closed"`
	Include       []string      `toml:"include"` // absolute; none: all
	Exclude       []string      `toml:"exclude"` // absolute
	Hours         Hours         `toml:"hours"`
	Order         string        `toml:"order"`
	MaxColdTokens int           `toml:"max_cold_tokens"` // 0: no bound
	OnCold        string        `toml:"on_cold"`
	WeeklyReserve int           `toml:"weekly_reserve"` // percent; 0: none
	Priority      []Priority    `toml:"priority"`
	TrustedUsers  []string      `toml:"trusted_users"`  // besides root and the user himself
	TrustedGroups []string      `toml:"trusted_groups"` // that may write what is obeyed
}

// Priority is the rank of the sessions of a directory.
type Priority struct {
	Dir  string `toml:"dir"` // absolute
	Rank int    `toml:"rank"`
}

// Trust is who may have written what is obeyed.
func (r Resume) Trust() ownership.Trust {
	return ownership.Trust{Users: r.TrustedUsers, Groups: r.TrustedGroups}
}

// History says how much of the past is kept.
type History struct {
	Keep        time.Duration `toml:"keep"`          // steps, outputs, copies of transcripts, notes about files that are gone
	MaxSize     Size          `toml:"max_size"`      // of all steps together
	EndedKeep   time.Duration `toml:"ended_keep"`    // sessions that gave up or are parked, from when something last happened to them
	RunsMaxSize Size          `toml:"runs_max_size"` // of the outputs of all resumes together
}

// HTTP is the page and the metrics.
type HTTP struct {
	Listen string `toml:"listen"` // host:port; "": off
}

// What of a host its fleet is told.
const (
	ShareFacts = "facts" // how sessions stand, and where
	ShareTexts = "texts" // also prompts and what agents said
)

// What is done about a session in a shared home whose host is gone.
const (
	TakeoverAsk  = "ask"
	TakeoverAuto = "auto"
)

const (
	defaultWebhookTimeout = "10s"
	defaultChannelName    = "desktop"
)

// Default returns the configuration of a user who said nothing.
func Default() Config {
	c := undecided()
	c.Notify.Desktop = defaultChannels(c.Notify.Events)
	return c
}

// undecided is Default before it is known whether the user named a channel.
func undecided() Config {
	return Config{
		Log: Log{Level: "info", Format: "auto"},
		Resume: Resume{
			Prompt:        "continue",
			Margin:        60 * time.Second,
			Grace:         2 * time.Hour,
			MaxWait:       192 * time.Hour,
			Overdue:       24 * time.Hour,
			Settle:        2 * time.Minute,
			Stall:         30 * time.Minute,
			Timeout:       12 * time.Hour,
			Lookback:      6 * time.Hour,
			MaxConcurrent: 2,
			MaxWindows:    8,
			Stagger:       20 * time.Second,
			Live:          LiveType,
			Unseen:        UnseenNarrow,
			KeepEnv:       KeepNames,
			OnCold:        string(resume.ResumeCold),
			Newcomer:      string(resume.InteractiveNewcomers),
			Closed:        string(resume.ResumeClosed),
			Order:         OldestFirst,
		},
		Backoff: Backoff{Policy: backoff.Default()},
		Notify: Notify{
			Events:    []string{"gave_up", "parked"},
			GroupWait: 10 * time.Second,
			DigestAt:  "07:30",
		},
		History: History{Keep: 90 * day, MaxSize: 64 << 20, EndedKeep: 30 * day, RunsMaxSize: 256 << 20},
		Fleet:   Fleet{Share: ShareFacts, Takeover: TakeoverAsk, Heartbeat: 15 * time.Second},
	}
}

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
