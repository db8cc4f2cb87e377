package app

import (
	"cmp"
	"context"
	"fmt"
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

// reloadRequests are requests to read the configuration again.
type reloadRequests chan func(error)

// ask makes the configuration be read again and returns its errors.
func (r reloadRequests) ask(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case r <- func(err error) { answer <- err }:
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

// reloader applies every valid change of the configuration.
type reloader struct {
	opts     Options
	maker    maker
	requests reloadRequests
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
		Requests: r.requests,
		Log:      r.opts.Log,
		Apply: func(cfg config.Config, err error) error {
			sdnotify.Reloading()
			defer r.wake()
			defer sdnotify.Reloaded()
			return r.apply(ctx, cfg, err)
		},
	})
}

// forward passes on requests from outside.
func (r *reloader) forward(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.opts.Reload:
			_ = r.requests.ask(ctx) // errors are logged
		}
	}
}

// apply applies a configuration, all of it or nothing: everything that can fail is done before anything
// is changed.
func (r *reloader) apply(ctx context.Context, cfg config.Config, err error) error {
	var made *settings
	if err == nil {
		made, err = r.maker.make(cfg, r.settings.Load())
	}
	if err != nil {
		r.refuse(err)
		return err
	}
	r.notifier.Swap(made.notify())
	said := func() { r.settings.Store(made) } // from here on it is shown as the current one
	if err := r.engine.SetRules(ctx, made.rules, said); err != nil {
		return fmt.Errorf("put the rules in force: %w", err)
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
	return nil
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

// cursors returns the stored read positions of all sources.
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
