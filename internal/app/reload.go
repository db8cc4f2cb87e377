package app

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/config/reload"
	"resumed/internal/control"
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

type reloader struct {
	opts     Options
	maker    maker
	settings *inForce
	store    *state.Store
	notifier *notify.Notifier
	engine   *engine.Engine
	feeds    *feed.Feeds
	web      *webui.Server
	metrics  *metrics.Metrics
	journal  *journal.Journal
	changes  *control.Changes
	fleet    *member.Client
	wake     func() // something has changed
}

// Run watches the file until ctx is done.
func (r *reloader) Run(ctx context.Context) error {
	return reload.Watch(ctx, r.opts.ConfigPath, reload.Options{
		Current:  r.opts.Config,
		Known:    agents.Known(),
		Requests: r.opts.Reload,
		Log:      r.opts.Log,
		Apply: func(cfg config.Config, err error) {
			sdnotify.Reloading()
			r.apply(ctx, cfg, err)
			sdnotify.Reloaded()
			r.wake()
		},
	})
}

// apply applies a configuration, all of it or nothing: everything that can fail is done before anything
// is changed.
func (r *reloader) apply(ctx context.Context, cfg config.Config, err error) {
	var made *settings
	if err == nil {
		made, err = r.maker.make(cfg, r.settings.Load())
	}
	if err != nil {
		r.refuse(err)
		return
	}
	r.notifier.Swap(made.notify())
	said := func() { r.settings.Store(made) } // from here on it is shown as the current one
	if r.engine.SetRules(ctx, made.rules, said) != nil {
		return // the daemon is stopping
	}
	if r.opts.Level != nil {
		r.opts.Level.Set(cfg.Log.SlogLevel())
	}
	r.web.Want(cfg.HTTP.Listen)
	r.fleet.Reload()
	r.metrics.Expect(made.agentNames(), made.channelNames())
	r.feeds.Swap(ctx, made.agents, r.cursors)
	r.changes.NoteAll()
	r.opts.Log.Info("configuration in force", "config", made.path)
	Warn(r.opts.Log, made.path, cfg)
	r.journal.Note(journal.Config, "in force: "+cmp.Or(made.path, "built-in defaults"))
}

// Warn logs what a person should know about a new configuration.
func Warn(log *slog.Logger, path string, cfg config.Config) {
	for _, warning := range config.Warnings(path, cfg) {
		log.Warn("configuration", "warning", warning)
	}
}

// refuse stores why a newer configuration is not used.
func (r *reloader) refuse(err error) {
	stays := *r.settings.Load()
	stays.refused = err
	r.settings.Store(&stays)
	r.changes.NoteAll()
	r.opts.Log.Error("configuration refused; the one before stays in force", "config", r.maker.configPath(), "err", err)
	r.journal.Note(journal.Config, "refused: "+err.Error())
	r.notifier.TellConfigError(err.Error())
}

func (r *reloader) cursors() feed.Cursors {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	err := r.store.Sync(ctx)
	if err == nil {
		var snapshot state.Snapshot
		if snapshot, err = r.store.Load(); err == nil {
			return snapshot.Cursors
		}
	}
	r.opts.Log.Warn("cursors could not be read; files are read as if seen for the first time", "err", err)
	return nil
}
