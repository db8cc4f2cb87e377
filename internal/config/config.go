// Package config reads file and environment into one checked, plain value, and
// watches the file. A Config is complete: every key has its value, whether it
// was written or not, and nobody changes it after Load returned it.
package config

import (
	"log/slog"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
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
}

// Log says how much is logged, and in which form.
type Log struct {
	Level  string `toml:"level"`  // debug | info | warn | error
	Format string `toml:"format"` // auto | text | json
}

// SlogLevel returns Level as the logger wants it.
func (l Log) SlogLevel() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // a level that Validate refuses is info
	return level
}

// What is done with a session whose process lives.
const (
	LiveType   = "type"   // its prompt is typed or queued
	LiveNotify = "notify" // a person is told
	LiveIgnore = "ignore"
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
	Settle        time.Duration `toml:"settle"`   // 0: none
	Stall         time.Duration `toml:"stall"`    // 0: no bound
	Timeout       time.Duration `toml:"timeout"`  // 0: no bound
	Lookback      time.Duration `toml:"lookback"`
	MaxConcurrent int           `toml:"max_concurrent"`
	MaxWindows    int           `toml:"max_windows"`
	Stagger       time.Duration `toml:"stagger"` // 0: none
	Live          string        `toml:"live"`
	Include       []string      `toml:"include"` // absolute; none: all
	Exclude       []string      `toml:"exclude"` // absolute
	Hours         Hours         `toml:"hours"`
	Order         string        `toml:"order"`
}

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

// KindCustom is the kind of an agent that the user describes.
const KindCustom = "custom"

// Agent changes a built-in agent, or describes one of the user's own.
type Agent struct {
	Name    string `toml:"name"`
	Kind    string `toml:"kind"` // "" for a built-in agent, else KindCustom
	Enabled bool   `toml:"enabled"`
	Policy  string `toml:"policy"` // "": by class

	Env     []string `toml:"env"` // KEY=value
	EnvFile string   `toml:"env_file"`

	// Of built-in agents only.
	Roots   []string `toml:"roots"`   // none: where the agent writes by itself
	Command string   `toml:"command"` // "": the agent's own name
	Server  string   `toml:"server"`

	// Of custom agents only.
	Files    []string `toml:"files"`
	Session  string   `toml:"session"`
	Cwd      string   `toml:"cwd"`
	Limit    []string `toml:"limit"`
	Progress []string `toml:"progress"`
	Resume   []string `toml:"resume"`
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

// Events returns every event that a person can be told.
func Events() []string {
	return []string{"gave_up", "parked", "limited", "retrying", "recovered", "config_error", "test"}
}

// Notify says what people are told, and by which ways. Load leaves no Notify
// without a channel: with none in the file there is one desktop channel.
type Notify struct {
	Events    []string      `toml:"events"`
	GroupWait time.Duration `toml:"group_wait"` // 0: none
	Desktop   []Desktop     `toml:"desktop"`
	Webhook   []Webhook     `toml:"webhook"`
	Service   []Service     `toml:"service"`
	Command   []Command     `toml:"command"`
}

// Channel is what all channels have.
type Channel struct {
	Name   string   `toml:"name"`
	Events []string `toml:"events"` // Load copies those of [notify] where none are given; none: it is silent
	Title  string   `toml:"title"`  // text/template; "": built in
	Text   string   `toml:"text"`   // text/template; "": built in
}

// Desktop shows notices on the user's desktop.
type Desktop struct{ Channel }

// Webhook posts notices to a URL.
type Webhook struct {
	Channel
	URL        Secret        `toml:"url"`
	URLFile    string        `toml:"url_file"`
	Secret     Secret        `toml:"secret"`
	SecretFile string        `toml:"secret_file"`
	Timeout    time.Duration `toml:"timeout"`
}

// Service sends notices by a shoutrrr URL.
type Service struct {
	Channel
	URL     Secret `toml:"url"`
	URLFile string `toml:"url_file"`
}

// Command gives notices to a program.
type Command struct {
	Channel
	Run []string `toml:"run"`
}

// channels returns what all channels have in common, under their keys.
func (n Notify) channels() map[string]Channel {
	all := map[string]Channel{}
	for i, c := range n.Desktop {
		all[index("notify.desktop", i)] = c.Channel
	}
	for i, c := range n.Webhook {
		all[index("notify.webhook", i)] = c.Channel
	}
	for i, c := range n.Service {
		all[index("notify.service", i)] = c.Channel
	}
	for i, c := range n.Command {
		all[index("notify.command", i)] = c.Channel
	}
	return all
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
