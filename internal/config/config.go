// Package config reads file and environment into one checked, plain value, and
// watches the file. A Config is complete: every key has its value, whether it
// was written or not, and nobody changes it after Load returned it.
package config

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
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
		if a.Enabled && a.FallbackModel != "" {
			said[a.Name] = "after an overload a resume may use the model " + a.FallbackModel + " if the session's own is still overloaded (fallback_model)"
		}
	}
	return said
}

// eventNames returns every event that a person can be told.
func eventNames() []string {
	return []string{"gave_up", "parked", "limited", "retrying", "recovered", "config_error", "state_error", "digest", "usage", "host_gone", "test"}
}

// Notify says what people are told, and by which ways. Load leaves no Notify
// without a channel: with none in the file there is one desktop channel.
type Notify struct {
	Events    []string      `toml:"events"`
	GroupWait time.Duration `toml:"group_wait"` // 0: none
	DigestAt  string        `toml:"digest_at"`  // when the event digest is told: a time of day, such as "07:30", or a night, such as "22:00-08:00"
	Desktop   []Desktop     `toml:"desktop"`
	Webhook   []Webhook     `toml:"webhook"`
	Service   []Service     `toml:"service"`
	Command   []Command     `toml:"command"`
}

// digestHours returns the span of the day in which a digest is told; where that is
// one time, it begins and ends then.
func (n Notify) digestHours() (Hours, error) {
	if strings.Contains(n.DigestAt, "-") {
		return parseHours(n.DigestAt)
	}
	at, err := parseClock(n.DigestAt)
	return Hours{From: at % minutesOfDay, To: at % minutesOfDay}, err
}

// LastNight returns when the span last began of which a digest tells, and when that one
// ends, or ended.
func (n Notify) LastNight(now time.Time) (begins, ends time.Time) {
	hours, _ := n.digestHours() // Load has checked it
	at := func(day time.Time, minutes int) time.Time {
		return time.Date(day.Year(), day.Month(), day.Day(), minutes/60, minutes%60, 0, 0, day.Location())
	}
	if begins = at(now, hours.From); begins.After(now) {
		begins = at(now.AddDate(0, 0, -1), hours.From)
	}
	if ends = at(begins, hours.To); ends.Before(begins) {
		ends = at(begins.AddDate(0, 0, 1), hours.To)
	}
	return begins, ends
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
	Replies string `toml:"replies"` // a topic of ntfy; "": notices have no buttons
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

// Fleet is how hosts that share an account find each other.
type Fleet struct {
	URL             string        `toml:"url"` // of one or several servers, with commas; "": there is no fleet
	CredentialsFile string        `toml:"credentials_file"`
	CAFile          string        `toml:"ca_file"`
	Name            string        `toml:"name"` // of this host; "": the system's
	Share           string        `toml:"share"`
	Takeover        string        `toml:"takeover"`
	Heartbeat       time.Duration `toml:"heartbeat"`
}

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

func defaultChannels(events []string) []Desktop {
	return []Desktop{{Channel{Name: defaultChannelName, Events: append([]string(nil), events...)}}}
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
