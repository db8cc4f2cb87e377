package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/state"
)

// parts is all that a configuration makes.
type parts struct {
	agents map[string]agent.Agent
	rules  resume.Rules
	notify notify.Config
}

// build makes all that can fail, and changes nothing.
func (d *daemon) build(cfg config.Config) (parts, error) {
	agents, err := agents.Make(cfg)
	if err != nil {
		return parts{}, err
	}
	channels, err := Channels(d.configPath(), cfg.Notify, d.retryFromDesktop, outbox{d.store})
	if err != nil {
		return parts{}, err
	}
	d.keepDesktops(cfg.Notify, channels)
	return parts{
		agents: agents,
		rules:  cfg.Rules(),
		notify: notify.Config{Channels: channels, Events: events(cfg.Notify.Events), GroupWait: cfg.Notify.GroupWait},
	}, nil
}

// keepDesktops puts the desktops that did not change back in their places: the
// buttons of what they show must go on working.
func (d *daemon) keepDesktops(cfg config.Notify, channels []notify.Channel) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, desktop := range d.config.Notify.Desktop {
		same := func(c config.Desktop) bool { return reflect.DeepEqual(c, desktop) }
		named := func(ch notify.Channel) bool { return ch.Name() == desktop.Name }
		old, now := slices.IndexFunc(d.channels, named), slices.IndexFunc(channels, named)
		if old >= 0 && now >= 0 && slices.ContainsFunc(cfg.Desktop, same) {
			channels[now] = d.channels[old]
		}
	}
}

// storeTimeout bounds how long an order waits for the engine and the disk.
const storeTimeout = 10 * time.Second

// retryFromDesktop is a person who presses the button.
func (d *daemon) retryFromDesktop(key resume.Key) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	d.tell(ctx, key, resume.Retry{})
}

// watchConfig puts every good change of the file in force.
func (d *daemon) watchConfig(ctx context.Context) error {
	return config.Watch(ctx, d.opts.ConfigPath, config.WatchOptions{
		Current:  d.opts.Config,
		Known:    agents.Known(),
		Requests: d.requests,
		Log:      d.log,
		Apply: func(cfg config.Config, err error) error {
			d.systemd.reloading()
			defer d.summary.wake()
			defer d.systemd.reloaded()
			return d.apply(ctx, cfg, err)
		},
	})
}

// forwardReloads passes on the requests that come from outside.
func (d *daemon) forwardReloads(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.opts.Reload:
			_ = d.reload(ctx) // the log tells
		}
	}
}

// reload reads the configuration again and returns what is wrong with it.
func (d *daemon) reload(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case d.requests <- func(err error) { answer <- err }:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// apply puts a configuration in force, all of it or nothing: what can fail is
// done before anything is touched. A bad one changes nothing.
func (d *daemon) apply(ctx context.Context, cfg config.Config, err error) error {
	var made parts
	if err == nil {
		made, err = d.build(cfg)
	}
	if err == nil {
		err = d.notifier.Swap(made.notify)
	}
	if err != nil {
		d.refuse(err)
		return err
	}

	path := d.configPath()
	d.mu.Lock()
	before := d.config
	d.config, d.rules, d.channels, d.path = cfg, made.rules, made.notify.Channels, path
	d.mu.Unlock()
	if d.opts.Level != nil {
		d.opts.Level.Set(cfg.Log.SlogLevel())
	}
	d.web.want(cfg.HTTP.Listen)
	d.metrics.expect(sortedKeys(made.agents), made.notify.Channels)
	d.swapAgents(before, cfg, made.agents)
	if err := d.engine.SetRules(ctx, made.rules); err != nil {
		return fmt.Errorf("put the rules in force: %w", err)
	}
	d.mu.Lock()
	d.loadedAt, d.loadErr = time.Now(), nil
	d.mu.Unlock()
	d.changes.NoteAll()
	d.log.Info("configuration in force", "config", path)
	d.note(kindConfig, "in force: "+cmp.Or(path, "built-in defaults"))
	return nil
}

// configPath returns the file that the configuration comes from; one that was
// not there at the start may have appeared since.
func (d *daemon) configPath() string {
	if d.opts.ConfigPath != "" {
		return d.opts.ConfigPath
	}
	path, err := config.Find("", os.Getenv)
	if err != nil {
		return ""
	}
	return path
}

func (d *daemon) refuse(err error) {
	d.mu.Lock()
	d.loadErr = err
	d.mu.Unlock()
	d.changes.NoteAll()
	d.log.Error("configuration refused; the one before stays in force", "config", d.configPath(), "err", err)
	d.note(kindConfig, "refused: "+err.Error())
	d.notifier.TellConfigError(err.Error())
}

// swapAgents stops the feeds of agents that changed and starts their
// successors where they stopped. The others go on untouched.
func (d *daemon) swapAgents(before, after config.Config, agents map[string]agent.Agent) {
	d.mu.Lock()
	var keep, stop []*feed
	for _, f := range d.feeds {
		name := f.agent.Name()
		if agents[name] != nil && sameAgent(before, after, name) {
			agents[name] = f.agent
			keep = append(keep, f)
		} else {
			stop = append(stop, f)
		}
	}
	d.agents = agents
	d.mu.Unlock()

	for _, f := range stop {
		f.stop()
	}
	var begin []*feed
	stored := d.cursors()
	for _, name := range sortedKeys(agents) {
		if !slices.ContainsFunc(keep, func(f *feed) bool { return f.agent.Name() == name }) {
			begin = append(begin, d.feedsFor(agents[name], stored)...)
		}
	}
	// Until here a look meets those that have stopped, and no resume goes on
	// without one.
	d.mu.Lock()
	d.feeds = slices.Concat(keep, begin)
	d.mu.Unlock()
	for _, f := range begin {
		f.start(d.inputs)
	}
}

func sameAgent(before, after config.Config, name string) bool {
	a := before.Agent(name)
	b := after.Agent(name)
	return reflect.DeepEqual(a, b) && before.Resume.Grace == after.Resume.Grace
}

// cursors returns how far every place was read, as it is stored.
func (d *daemon) cursors() cursors {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	err := d.store.Sync(ctx)
	if err == nil {
		var snapshot state.Snapshot
		if snapshot, err = d.store.Load(); err == nil {
			return snapshot.Cursors
		}
	}
	d.log.Warn("cursors could not be read; files are read as if seen for the first time", "err", err)
	return nil
}
