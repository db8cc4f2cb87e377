package app

import (
	"context"
	"maps"
	"os"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/deliver"
	"resumed/internal/notify"
	"resumed/internal/notify/channels"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// settings is all that a configuration makes. It is never changed: a reload
// replaces it as a whole.
type settings struct {
	config   config.Config
	path     string // of its file; "": built-in defaults
	rules    resume.Rules
	agents   map[string]agent.Agent
	channels []notify.Channel
	loadedAt time.Time
	refused  error // why a newer file is not in force
}

// inForce is the settings that are in force. The reloader alone replaces them.
type inForce = atomic.Pointer[settings]

func (s *settings) agentNames() []string { return slices.Sorted(maps.Keys(s.agents)) }

func (s *settings) channelNames() []string {
	names := make([]string, len(s.channels))
	for i, ch := range s.channels {
		names[i] = ch.Name()
	}
	return names
}

// notify returns what the notifier goes by.
func (s *settings) notify() notify.Config {
	return notify.Config{Channels: s.channels, GroupWait: s.config.Notify.GroupWait}
}

// goOn returns the command by which a person continues a session, where its agent has one.
func (s *settings) goOn(session resume.Session) string {
	if a := s.agents[session.Key.Agent]; a != nil { // else it is switched off
		return a.GoOn(session)
	}
	return ""
}

// view shows a session with the bound that the rules give it.
func (s *settings) view(session resume.Session) view.Session {
	v := view.Of(session, s.rules.Policy(session.Key.Agent, session.Limit.Class).MaxRetries)
	if cold, known := session.Cold(time.Now()); known && v.Cold == nil {
		v.Cold = new(cold) // it is not waiting: a resume would be now
	}
	v.Remedy = agents.Remedy(v)
	return v
}

// forDelivery returns what a delivery goes by now.
func (s *settings) forDelivery() deliver.Settings {
	wanted := s.config.Resume
	return deliver.Settings{
		Prompt: wanted.Prompt, Live: deliver.Live(wanted.Live), Timeout: wanted.Timeout, Stall: wanted.Stall,
		Agent:   func(name string) agent.Agent { return s.agents[name] },
		Env:     func(name string) ([]string, error) { return s.config.Agent(name).Environment(wanted.Trust()) },
		Secrets: wanted.KeepEnv == config.KeepSecrets,
		Rules:   s.rules,
		Trust:   wanted.Trust(),
	}
}

// maker makes settings of a configuration.
type maker struct {
	path   string // of the file that is watched; "": it may still appear
	memory notify.Memory
	order  func(context.Context, notify.Order, resume.Key) // a person presses a button of a notice
}

// make does all that can fail, and changes nothing. What did not change since
// before, where there is one, is taken over: agents keep what they have read, and
// the buttons on a desktop go on working.
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

// configPath returns the file that the configuration comes from; one that was
// not there at the start may have appeared since.
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
	return reflect.DeepEqual(before.Agent(name), after.Agent(name)) && before.Resume.Grace == after.Resume.Grace &&
		before.Resume.Unseen == after.Resume.Unseen
}

// keepDesktops puts the desktops that did not change back in their places.
func keepDesktops(before *settings, cfg config.Notify, channels []notify.Channel) {
	for _, desktop := range before.config.Notify.Desktop {
		same := func(c config.Desktop) bool { return reflect.DeepEqual(c, desktop) }
		named := func(ch notify.Channel) bool { return ch.Name() == desktop.Name }
		old, now := slices.IndexFunc(before.channels, named), slices.IndexFunc(channels, named)
		if old >= 0 && now >= 0 && slices.ContainsFunc(cfg.Desktop, same) {
			channels[now] = before.channels[old]
		}
	}
}
