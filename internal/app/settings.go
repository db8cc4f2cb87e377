package app

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/deliver"
	"resumed/internal/mounts"
	"resumed/internal/notify"
	"resumed/internal/notify/channels"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/runenv"
)

// settings is everything that is built from a configuration. It is immutable: a reload replaces it as a
// whole.
type settings struct {
	config   config.Config
	path     string // of its file; "": built-in defaults
	rules    resume.Rules
	agents   map[string]agent.Agent
	channels []*notify.Channel
	loadedAt time.Time
	refused  error // why a newer file is not used
}

func (s *settings) agentNames() []string { return slices.Sorted(maps.Keys(s.agents)) }

func (s *settings) channelNames() []string {
	names := make([]string, len(s.channels))
	for i, ch := range s.channels {
		names[i] = ch.Name
	}
	return names
}

func (s *settings) notify() notify.Config {
	return notify.Config{Channels: s.channels, GroupWait: s.config.Notify.GroupWait}
}

// goOn returns the command that continues a session, if its agent has one.
func (s *settings) goOn(session resume.Session) string {
	if a := s.agents[session.Key.Agent]; a != nil { // otherwise it is switched off
		return a.ContinueCommand(session)
	}
	return ""
}

// view returns a session with the limits of the rules.
func (s *settings) view(session resume.Session) view.Session {
	v := view.ByRules(session, s.rules)
	if cold, known := session.Cold(time.Now()); known && v.Cold == nil {
		v.Cold = new(cold) // it is not waiting: a resume would start now
	}
	v.Remedy = agents.Remedy(v)
	return v
}

// forDelivery returns the current settings for a delivery.
func (s *settings) forDelivery() deliver.Settings {
	wanted := s.config.Resume
	return deliver.Settings{
		Prompts: wanted.Prompts(), Live: deliver.Live(wanted.Live), Timeout: wanted.Timeout, Stall: wanted.Stall,
		Agent:    func(name string) agent.Agent { return s.agents[name] },
		Env:      func(name string) ([]string, error) { return s.config.Agent(name).Environment(wanted.Trust()) },
		SameMode: wanted.Unseen == "same_mode", ChangedEnv: runenv.Changed(wanted.ChangedEnv),
		Secrets: wanted.KeepEnv == config.KeepSecrets,
		Rules:   s.rules,
		Trust:   wanted.Trust(),
	}
}

type maker struct {
	path   string // of the watched file; "": the best one that there is
	memory notify.Memory
	order  func(context.Context, notify.Action, resume.Key) // called when a person presses a button of a notice
}

// make does everything that can fail, and changes nothing. Parts that have not changed since before are
// reused: agents keep their caches, and the buttons on a desktop still work.
func (m maker) make(cfg config.Config, before *settings) (*settings, error) {
	path := m.configPath()
	made, err := agents.Make(cfg)
	if err != nil {
		return nil, err
	}
	ways, err := channels.Build(path, cfg, m.order, m.memory)
	if err != nil {
		return nil, err
	}
	if before != nil {
		for name := range made {
			if old := before.agents[name]; old != nil && sameAgent(before.config, cfg, name) {
				made[name] = old
			}
		}
		keepDesktops(before, cfg.Notify, ways)
	}
	return &settings{config: cfg, path: path, rules: cfg.Rules(), agents: made, channels: ways, loadedAt: time.Now()}, nil
}

// configPath returns the file of the configuration; it may have been created after the start.
func (m maker) configPath() string {
	if m.path != "" {
		return m.path
	}
	path, err := config.Find("", os.Getenv)
	if err != nil {
		return ""
	}
	return path
}

func sameAgent(before, after config.Config, name string) bool {
	return reflect.DeepEqual(before.Agent(name), after.Agent(name)) && before.Resume.Grace == after.Resume.Grace
}

// keepDesktops reuses the desktop channels that have not changed.
func keepDesktops(before *settings, cfg config.Notify, channels []*notify.Channel) {
	for _, desktop := range before.config.Notify.Desktop {
		same := func(c config.Desktop) bool { return reflect.DeepEqual(c, desktop) }
		named := func(ch *notify.Channel) bool { return ch.Name == desktop.Name }
		old, now := slices.IndexFunc(before.channels, named), slices.IndexFunc(channels, named)
		if old >= 0 && now >= 0 && slices.ContainsFunc(cfg.Desktop, same) {
			channels[now] = before.channels[old]
		}
	}
}

// Options configure a daemon.
type Options struct {
	ConfigPath string // the file that is watched; "": built-in defaults

	// ConfigNamed says that a person named that file. Otherwise another one may take its place.
	ConfigNamed bool

	Config     config.Config // its content
	StateDir   string
	RuntimeDir string
	LeaseDirs  []string // where programs agree on which of them continues a session
	Version    string
	DryRun     bool // decide and log everything, start nothing

	Log   *slog.Logger
	Level *slog.LevelVar // set to log.level; nil: not changed

	Reload <-chan os.Signal    // asks for a reload; may be nil
	Ready  func()              // called when the daemon watches; may be nil
	Seen   func(resume.Change) // called for every change, for tests and logs; must not block; may be nil

	Network func(path string) string // returns the shared file system that a file is on, if any; nil: mounts.Network
}

func (o Options) network(path string) string {
	if o.Network != nil {
		return o.Network(path)
	}
	return mounts.Network(path)
}
