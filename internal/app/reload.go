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
	"resumed/internal/metrics"
	"resumed/internal/notify"
	"resumed/internal/resume/engine"
	"resumed/internal/sdnotify"
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
