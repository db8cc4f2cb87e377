package app

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/config/reload"
	"resumed/internal/control"
	"resumed/internal/deliver"
	"resumed/internal/feed"
	"resumed/internal/fleet/member"
	"resumed/internal/journal"
	"resumed/internal/lease"
	"resumed/internal/metrics"
	"resumed/internal/notify"
	"resumed/internal/process"
	"resumed/internal/resume/engine"
	"resumed/internal/sdnotify"
	"resumed/internal/starts"
	"resumed/internal/state"
	"resumed/internal/webui"
)

// storeTimeout bounds how long an order waits for the engine and the disk.
const storeTimeout = 10 * time.Second

// parts are the parts of the daemon that a reload and the housekeeping work with.
type parts struct {
	opts      Options
	settings  atomic.Pointer[settings] // the current ones; only a reload replaces them
	maker     maker
	changes   *control.Changes
	store     *state.Store
	notifier  *notify.Notifier
	engine    *engine.Engine
	deliver   *deliver.Deliverer
	feeds     *feed.Feeds
	fleet     *member.Client
	journal   *journal.Journal
	metrics   *metrics.Metrics
	summary   *sdnotify.Summary
	web       *webui.Server
	firstRead chan struct{} // closed when all existing transcripts were read
}

// watchConfig applies every valid change of the configuration, until ctx is done.
func (p *parts) watchConfig(ctx context.Context) error {
	return reload.Watch(ctx, p.opts.ConfigPath, reload.Options{
		Current:  p.opts.Config,
		Named:    p.opts.ConfigNamed,
		Known:    agents.Known(),
		Requests: p.opts.Reload,
		Log:      p.opts.Log,
		Apply: func(cfg config.Config, err error) {
			sdnotify.Reloading()
			p.apply(ctx, cfg, err)
			sdnotify.Reloaded()
			p.summary.Wake()
		},
	})
}

// apply applies a configuration, all of it or nothing: everything that can fail is done before anything
// is changed.
func (p *parts) apply(ctx context.Context, cfg config.Config, err error) {
	var made *settings
	if err == nil {
		made, err = p.maker.make(cfg, p.settings.Load())
	}
	if err != nil {
		p.refuse(err)
		return
	}
	p.notifier.Swap(made.notify())
	said := func() { p.settings.Store(made) } // from here on it is shown as the current one
	if p.engine.SetRules(ctx, made.rules, said) != nil {
		return // the daemon is stopping
	}
	if p.opts.Level != nil {
		p.opts.Level.Set(cfg.Log.SlogLevel())
	}
	p.web.Want(cfg.HTTP.Listen)
	p.fleet.Reload()
	p.metrics.Expect(made.agentNames(), made.channelNames())
	p.feeds.Swap(ctx, made.agents, p.cursors)
	p.changes.NoteAll()
	p.opts.Log.Info("configuration in force", "config", made.path)
	Warn(p.opts.Log, made.path, cfg)
	p.journal.Note(journal.Config, "in force: "+cmp.Or(made.path, "built-in defaults"))
}

// Warn logs what a person should know about a new configuration.
func Warn(log *slog.Logger, path string, cfg config.Config) {
	for _, warning := range config.Warnings(path, cfg) {
		log.Warn("configuration", "warning", warning)
	}
}

// refuse stores why a newer configuration is not used.
func (p *parts) refuse(err error) {
	stays := *p.settings.Load()
	stays.refused = err
	p.settings.Store(&stays)
	p.changes.NoteAll()
	p.opts.Log.Error("configuration refused; the one before stays in force", "config", p.maker.configPath(), "err", err)
	p.journal.Note(journal.Config, "refused: "+err.Error())
	p.notifier.TellConfigError(err.Error())
}

func (p *parts) cursors() feed.Cursors {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	err := p.store.Sync(ctx)
	if err == nil {
		var snapshot state.Snapshot
		if snapshot, err = p.store.Load(); err == nil {
			return snapshot.Cursors
		}
	}
	p.opts.Log.Warn("cursors could not be read; files are read as if seen for the first time", "err", err)
	return nil
}

const pruneEvery = time.Hour

// aliveEvery is how often it is stored that the daemon is alive: after a crash it seems to have been
// down for at most that much longer.
const aliveEvery = 10 * time.Minute

// longestFirstLook is how long the cleanup waits until the agents' homes are read.
const longestFirstLook = time.Minute

const straysEvery = time.Minute

// keepHouse removes what would grow without end, until ctx is done: everything once an hour, and history
// also when it has grown.
func (p *parts) keepHouse(ctx context.Context) error {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	if p.engine.Ping(ctx) == nil { // the engine must see how long no daemon ran before this is overwritten
		p.store.SetAlive(time.Now())
	}
	select {
	case <-ctx.Done():
		return nil
	case <-p.firstRead: // people may wait for this, so it comes first
	case <-time.After(longestFirstLook):
	}
	p.tidyAll(ctx)
	strays := time.NewTicker(straysEvery)
	defer strays.Stop()
	told := make(map[string]bool)
	p.tellStrays(ctx, told)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.store.Grown():
			p.pruneHistory(ctx)
		case <-ticker.C:
			p.tidyAll(ctx)
		case now := <-alive.C:
			p.store.SetAlive(now)
		case <-strays.C:
			p.tellStrays(ctx, told)
		}
	}
}

func (p *parts) pruneHistory(ctx context.Context) {
	history := p.settings.Load().config.History
	if err := p.store.Prune(ctx, history.Keep, int64(history.MaxSize)); err != nil && ctx.Err() == nil {
		p.opts.Log.Warn("old history was not pruned", "err", err)
	}
}

func (p *parts) tidyAll(ctx context.Context) {
	p.pruneHistory(ctx)
	history := p.settings.Load().config.History
	if err := p.deliver.PruneFiles(ctx, history.Keep, int64(history.RunsMaxSize), time.Now()); err != nil {
		p.opts.Log.Warn("old outputs and copies of transcripts were not removed", "err", err)
	}
	if err := starts.In(p.opts.RuntimeDir).Prune(time.Now().Add(-history.EndedKeep)); err != nil {
		p.opts.Log.Warn("files of old sessions could not be removed", "err", err)
	}
	if err := lease.Prune(p.opts.LeaseDirs, time.Now().Add(-history.EndedKeep)); err != nil {
		p.opts.Log.Warn("old leases were not removed", "err", err)
	}
}

// tellStrays logs once for each home that an agent works in it but it is not watched.
func (p *parts) tellStrays(ctx context.Context, told map[string]bool) {
	settings := p.settings.Load()
	ctx = process.WithSnapshot(ctx)
	for _, name := range settings.agentNames() {
		strays, _ := settings.agents[name].Unwatched(ctx) // if processes cannot be seen, none is found
		for _, stray := range strays {
			if key := name + "\x00" + stray.Home; !told[key] {
				told[key] = true
				p.opts.Log.Warn("an agent works in a home that is not watched", "agent", name, "what", stray.String(), "remedy", stray.Remedy())
			}
		}
	}
}
