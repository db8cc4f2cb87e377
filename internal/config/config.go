// Package config loads the file and the environment into one checked Config. A Config is complete:
// every key has a value, written or default. It never changes after Load returned it.
package config

import (
	"log/slog"
	"strings"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/ownership"
	"resumed/internal/prompt"
)

// Config holds all settings of a user. Equal files give configurations that are equal by
// reflect.DeepEqual: a list without entries is always nil.
//
// The tags of a field describe its key: its name (toml), its default, the allowed words (oneof), what a
// duration of 0s means (zero; without it 0s is refused) or its bounds (within), the kind of its path
// (path), which agents it is for (for), and whether its value is hidden (secret).
type Config struct {
	Log     Log     `toml:"log"`
	Resume  Resume  `toml:"resume"`
	Backoff Backoff `toml:"backoff"`
	Agents  []Agent `toml:"agent"`
	Notify  Notify  `toml:"notify"`
	History History `toml:"history"`
	HTTP    HTTP    `toml:"http"`
	Control Control `toml:"control"`
	Fleet   Fleet   `toml:"fleet"`
}

// Log sets the level and the format of the log.
type Log struct {
	Level  string `toml:"level" default:"info" oneof:"debug info warn error"`
	Format string `toml:"format" default:"auto" oneof:"auto text json"`
}

// SlogLevel returns Level as an slog.Level.
func (l Log) SlogLevel() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // Load has checked it
	return level
}

// Resume sets when and how interrupted sessions are resumed.
type Resume struct {
	Prompt        string        `toml:"prompt" default:"continue"`
	Margin        time.Duration `toml:"margin" default:"60s" zero:"none"`
	Grace         time.Duration `toml:"grace" default:"2h" zero:"none"`
	MaxWait       time.Duration `toml:"max_wait" default:"192h" zero:"no bound"`
	Overdue       time.Duration `toml:"overdue" default:"24h" zero:"nobody is asked"`
	Settle        time.Duration `toml:"settle" default:"2m" zero:"none"`
	Stall         time.Duration `toml:"stall" default:"30m" zero:"no bound"`
	Timeout       time.Duration `toml:"timeout" default:"12h" zero:"no bound"`
	Lookback      time.Duration `toml:"lookback" default:"6h"`
	MaxConcurrent int           `toml:"max_concurrent" default:"2"`
	MaxWindows    int           `toml:"max_windows" default:"8"`
	Stagger       time.Duration `toml:"stagger" default:"20s" zero:"none"`
	Live          string        `toml:"live" default:"type" oneof:"type notify ignore"` // for a session with a running process
	Unseen        string        `toml:"unseen" default:"park" oneof:"park same_mode"`   // for a session whose start was not observed
	KeepEnv       string        `toml:"keep_env" default:"names" oneof:"names secrets"`
	ChangedEnv    string        `toml:"changed_env" default:"auto" oneof:"auto tell park"` // if a resume would not have a variable as its session had it
	Newcomer      string        `toml:"newcomer" default:"interactive" oneof:"interactive any never"`
	Closed        string        `toml:"closed" default:"resume" oneof:"resume leave"`
	CutOff        string        `toml:"cut_off" default:"tell" oneof:"tell resume ignore"` // for a session whose process ended in the middle of a turn
	Silent        time.Duration `toml:"silent" default:"20m" zero:"nobody is told"`
	Include       []string      `toml:"include" path:"dir"` // none: all
	Exclude       []string      `toml:"exclude" path:"dir"`
	Hours         Hours         `toml:"hours"`
	Order         string        `toml:"order" default:"oldest" oneof:"oldest newest"` // which session starts first when several are due
	MaxColdTokens int           `toml:"max_cold_tokens"`                              // 0: no bound
	OnCold        string        `toml:"on_cold" default:"resume" oneof:"resume tell park"`
	WeeklyReserve int           `toml:"weekly_reserve"` // percent; 0: none
	Priority      []Priority    `toml:"priority"`
	PromptFor     []PromptFor   `toml:"prompt_for"`
	TrustedUsers  []string      `toml:"trusted_users"`  // besides root and the user
	TrustedGroups []string      `toml:"trusted_groups"` // that may write the files resumed obeys
}

// KeepSecrets is the KeepEnv that stores the values of secrets, not only their names and a hash.
const KeepSecrets = "secrets"

// Priority is the rank of the sessions of a directory.
type Priority struct {
	Dir  string `toml:"dir" path:"dir"`
	Rank int    `toml:"rank"`
}

// PromptFor is the prompt for sessions that were stopped by an error of some classes.
type PromptFor struct {
	Classes []limit.Class `toml:"classes"`
	Prompt  string        `toml:"prompt"`
}

// Prompts returns what agents are told.
func (r Resume) Prompts() prompt.Prompts {
	all := prompt.Prompts{Usual: r.Prompt, For: make(map[limit.Class]string)}
	for _, one := range r.PromptFor {
		for _, class := range one.Classes {
			all.For[class] = one.Prompt
		}
	}
	return all
}

// Trust returns the users and groups that may write the files resumed obeys.
func (r Resume) Trust() ownership.Trust {
	return ownership.Trust{Users: r.TrustedUsers, Groups: r.TrustedGroups}
}

// KindCustom is the kind of an agent that the user describes.
const KindCustom = "custom"

// Agent changes a built-in agent, or describes one of the user's own.
type Agent struct {
	Name    string   `toml:"name"`
	Kind    string   `toml:"kind"` // "" for a built-in agent, else KindCustom
	Enabled bool     `toml:"enabled" default:"true"`
	Policy  string   `toml:"policy"`            // "": the policy of the class
	Account string   `toml:"account"`           // in a fleet: the account that provides the allowance; "": read from the agent's files
	Env     []string `toml:"env" secret:"true"` // KEY=value
	EnvFile string   `toml:"env_file" path:"secret"`

	Roots   []string `toml:"roots" for:"built-in" path:"dir"`       // none: the agent's default directories
	Command string   `toml:"command" for:"built-in" path:"command"` // "": the agent's own name

	// FallbackModel is the model that a resume may use if the session's own is overloaded; "": none.
	FallbackModel string `toml:"fallback_model" for:"built-in"`

	Files    []string `toml:"files" for:"custom" path:"pattern"`
	Session  string   `toml:"session" for:"custom"`
	Cwd      string   `toml:"cwd" for:"custom" path:"dir"`
	About    string   `toml:"about" for:"custom" path:"file"` // a file that names the session's directory, with {session}; "": none
	Program  []string `toml:"program" for:"custom"`           // the program that holds a session while it runs in its directory, and words of its headless runs; none: not known
	Limit    []string `toml:"limit" for:"custom"`
	Progress []string `toml:"progress" for:"custom"`
	Resume   []string `toml:"resume" for:"custom" path:"argv"`
	Start    []string `toml:"start" for:"custom" path:"argv"` // starts a session for the queue; none: it cannot
}

// Notify sets which events are reported, and by which channels. After Load there is always a channel:
// without one in the file, it is one desktop channel.
type Notify struct {
	Events    []string      `toml:"events" default:"gave_up parked"`
	GroupWait time.Duration `toml:"group_wait" default:"10s" zero:"none"`
	DigestAt  string        `toml:"digest_at" default:"07:30"` // when the digest is sent: a time of day, such as "07:30", or a night, such as "22:00-08:00"
	Desktop   []Desktop     `toml:"desktop"`
	Webhook   []Webhook     `toml:"webhook"`
	Service   []Service     `toml:"service"`
	Command   []Command     `toml:"command"`
}

// Channel holds the keys that all channels have.
type Channel struct {
	Name   string   `toml:"name"`
	Events []string `toml:"events"` // Load copies those of [notify] if the key is missing; empty: the channel is silent
	Title  string   `toml:"title"`  // text/template, which the channel checks; "": built in
	Text   string   `toml:"text"`   // the same
}

// Desktop shows notices on the desktop.
type Desktop struct{ Channel }

// Webhook posts notices to a URL.
type Webhook struct {
	Channel
	URL        Secret        `toml:"url"`
	URLFile    string        `toml:"url_file" path:"secret"`
	Secret     Secret        `toml:"secret"`
	SecretFile string        `toml:"secret_file" path:"secret"`
	Timeout    time.Duration `toml:"timeout" default:"10s"`
}

// Service sends notices through a service URL.
type Service struct {
	Channel
	URL     Secret `toml:"url"`
	URLFile string `toml:"url_file" path:"secret"`
	Replies string `toml:"replies"` // an ntfy topic; "": notices have no buttons
}

// Command passes notices to a program.
type Command struct {
	Channel
	Run []string `toml:"run" path:"argv"`
}

// History sets how much of the past is stored.
type History struct {
	Keep        time.Duration `toml:"keep" default:"90d"`             // steps, outputs, copies of transcripts, notes about deleted files
	MaxSize     Size          `toml:"max_size" default:"64MiB"`       // of all steps together
	EndedKeep   time.Duration `toml:"ended_keep" default:"30d"`       // sessions that gave up or are parked, since their last change
	RunsMaxSize Size          `toml:"runs_max_size" default:"256MiB"` // of the outputs of all resumes together
}

// HTTP sets the address of the page and the metrics.
type HTTP struct {
	Listen string `toml:"listen"` // host:port; "": off
}

// Control sets who may give orders.
type Control struct {
	TrustConfined bool `toml:"trust_confined"` // also processes that are more restricted than the daemon
}

// Fleet sets how hosts that share an account find each other.
type Fleet struct {
	URL             string        `toml:"url"` // of one or several servers, separated by commas; "": no fleet
	CredentialsFile string        `toml:"credentials_file" path:"secret"`
	CAFile          string        `toml:"ca_file" path:"file"`
	Name            string        `toml:"name"` // of this host; "": the system's name
	Share           string        `toml:"share" default:"facts" oneof:"facts texts"`
	Takeover        string        `toml:"takeover" default:"ask" oneof:"ask auto"` // of a session in a shared home, after its host is gone
	Heartbeat       time.Duration `toml:"heartbeat" default:"15s" within:"1s 1m"`
}

// Values of Fleet that other packages compare with.
const (
	ShareFacts   = "facts" // the states of sessions, and where they are
	ShareTexts   = "texts" // also prompts and the agents' messages
	TakeoverAuto = "auto"
)

// Known are the built-in agents. An entry with such a name changes the agent, and does not describe a
// new one.
type Known []Builtin

// Builtin is an agent that works without an entry.
type Builtin struct {
	Name   string
	Models bool // its program can change to another model by itself
}

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

// Failovers describes, by agent, the fallback model with which sessions may continue.
func (c Config) Failovers() map[string]string {
	said := make(map[string]string)
	for _, a := range c.Agents {
		if a.Enabled && a.FallbackModel != "" {
			said[a.Name] = "after an overload a resume may use the model " + a.FallbackModel + " if the session's own is still overloaded (fallback_model)"
		}
	}
	return said
}

// digestHours returns the span of the day in which a digest is sent. For a single time, the span begins
// and ends then.
func (n Notify) digestHours() (Hours, error) {
	if strings.Contains(n.DigestAt, "-") {
		return parseHours(n.DigestAt)
	}
	at, err := parseClock(n.DigestAt)
	return Hours{From: at % minutesOfDay, To: at % minutesOfDay}, err
}

// LastNight returns when the latest span that a digest covers began, and when it ends or ended.
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

// Backoff is the default policy, and the policies that have a name.
type Backoff struct {
	backoff.Policy
	Policies []NamedPolicy `toml:"policy"`

	// Given says that the file, or the environment, sets a key of the default policy: then it counts
	// for outages too.
	Given bool
}

// NamedPolicy is a policy for some classes, or for agents that name it.
type NamedPolicy struct {
	Name    string        `toml:"name"`
	Classes []limit.Class `toml:"classes"`
	backoff.Policy
}
