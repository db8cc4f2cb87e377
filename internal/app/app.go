// Package app builds the daemon from a configuration and runs it: what starts
// first, what stops last, what changes on a reload.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"resumed/internal/agent"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/state"
	"resumed/internal/webui"
)

// Options are what a daemon is made of.
type Options struct {
	ConfigPath string        // the file that is watched; "": built-in defaults
	Config     config.Config // what it says
	StateDir   string
	RuntimeDir string
	LeaseDirs  []string // where it is agreed who looks after a session
	Version    string
	DryRun     bool // decide and log everything, start nothing

	Log   *slog.Logger
	Level *slog.LevelVar // follows log.level; nil: it stays as it is

	Reload <-chan struct{}     // asks for a reload, as SIGHUP does; may be nil
	Ready  func()              // called when the daemon watches; may be nil
	Seen   func(resume.Change) // told every step, as a log is; must not block; may be nil
}

// daemon is a running resumed.
type daemon struct {
	opts      Options
	log       *slog.Logger
	startedAt time.Time
	store     *state.Store
	engine    *resume.Engine
	notifier  *notify.Notifier
	journal   journal
	leases    *leases
	systemd   systemd
	changes   control.Changes // what those who watch are to be told
	summary   summary
	witnesses *witnesses
	metrics   *metrics
	web       *web
	inputs    *stage // set once, before anybody can ask for a reload

	requests chan func(error) // ask for the configuration to be read again

	claiming sync.Mutex // held while a session takes a directory for what is kept of it

	// mu guards everything that follows.
	mu       sync.Mutex
	config   config.Config
	path     string // of the configuration; "": built-in defaults
	rules    resume.Rules
	agents   map[string]agent.Agent
	channels []notify.Channel
	feeds    []*feed
	loadedAt time.Time
	loadErr  error
	paused   bool
	running  map[string]stopper // by mark
}

// Run is the daemon. It returns nil when ctx is done.
func Run(ctx context.Context, opts Options) error {
	d := &daemon{
		opts:      opts,
		log:       opts.Log,
		startedAt: time.Now(),
		config:    opts.Config,
		path:      opts.ConfigPath,
		requests:  make(chan func(error)),
		loadedAt:  time.Now(),
		leases:    newLeases(opts.LeaseDirs),
		running:   make(map[string]stopper),
		summary:   newSummary(),
		witnesses: newWitnesses(),
	}
	d.metrics = newMetrics(d)
	store, err := state.Open(opts.StateDir, opts.Log)
	if err != nil {
		return err
	}
	defer func() {
		if err := store.Close(); err != nil {
			d.log.Error("state could not be closed", "err", err)
		}
	}()
	d.store = store
	token, err := webui.Token(opts.StateDir)
	if err != nil {
		return err
	}
	d.web = newWeb(d, token)
	d.web.want(opts.Config.HTTP.Listen)

	snapshot, err := store.Load()
	if err != nil {
		return err
	}
	for _, err := range snapshot.Skipped {
		d.log.Warn("a stored record was skipped", "err", err)
	}
	d.paused = snapshot.Paused

	parts, err := d.build(opts.Config)
	if err != nil {
		return err
	}
	d.agents, d.rules, d.channels = parts.agents, parts.rules, parts.notify.Channels
	d.metrics.expect(sortedKeys(parts.agents), parts.notify.Channels)
	if d.notifier, err = newNotifier(d, parts.notify); err != nil {
		return err
	}
	d.journal = newJournal(d)
	d.engine = resume.NewEngine(resume.Options{
		Rules:    parts.rules,
		Sessions: snapshot.Sessions,
		Paused:   snapshot.Paused,
		Act:      d.act,
		Changed:  d.journal.changed,
		Rand:     rand.Float64,
		Mark:     uuid.NewString,
	})
	d.journal.remember(snapshot.Sessions)
	d.journal.tellAgain(snapshot.Sessions)
	for _, s := range snapshot.Sessions {
		if s.Interrupted() {
			d.witnesses.call(s.Key)
		}
	}

	server, err := d.listen(opts)
	if err != nil {
		return err
	}
	return d.run(ctx, server, snapshot)
}

// run starts the parts from the sinks up and stops them in the other order, so
// that nothing speaks to a part that is gone.
func (d *daemon) run(ctx context.Context, server *control.Server, snapshot state.Snapshot) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)

	disk := newStage(ctx, fail)
	disk.run("state", d.store.Run)
	people := newStage(ctx, fail)
	people.run("notifier", d.notifier.Run)
	inputs := newStage(ctx, fail)
	d.inputs = inputs
	d.setFeeds(snapshot) // before anything is resumed: a transcript is read again first
	core := newStage(ctx, fail)
	core.run("engine", d.engine.Run)
	core.run("recovery", func(ctx context.Context) error { return d.recover(ctx, snapshot.Sessions) })
	inputs.run("control", server.Run)
	inputs.run("configuration", d.watchConfig)
	inputs.run("reload requests", d.forwardReloads)
	inputs.run("housekeeping", d.housekeep)
	inputs.run("watchdog", d.feedWatchdog)
	inputs.run("summary", d.summarise)
	inputs.run("programs", d.identifyAll)
	inputs.run("http", d.web.Run)

	d.log.Info("watching", "version", d.opts.Version, "pid", os.Getpid(), "config", d.opts.ConfigPath,
		"agents", d.agentNames(), "sessions", len(snapshot.Sessions), "dry_run", d.opts.DryRun)
	d.note(kindStarted, "resumed "+d.opts.Version)
	d.systemd.ready("watching")
	d.summary.wake()
	if d.opts.Ready != nil {
		d.opts.Ready()
	}

	<-ctx.Done()
	d.systemd.stopping()
	inputs.stop()
	core.stop()
	people.stop()
	cause := context.Cause(ctx)
	d.note(kindStopped, cause.Error())
	disk.stop()
	if failure, ok := errors.AsType[*partError](cause); ok {
		return failure
	}
	d.log.Info("stopped", "cause", cause)
	return nil
}

// partError is a part of the daemon that ended before its time.
type partError struct {
	part string
	err  error
}

func (e *partError) Error() string { return fmt.Sprintf("%s ended: %v", e.part, e.err) }

func (e *partError) Unwrap() error { return e.err }

// stage is a set of parts that stop together.
type stage struct {
	ctx    context.Context
	cancel context.CancelFunc
	fail   context.CancelCauseFunc
	wg     sync.WaitGroup
}

// newStage returns a stage that outlives ctx: it ends with stop. A part that
// fails makes the whole daemon stop.
func newStage(ctx context.Context, fail context.CancelCauseFunc) *stage {
	s := &stage{fail: fail}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

func (s *stage) run(part string, run func(context.Context) error) {
	s.wg.Go(func() {
		if err := run(s.ctx); err != nil && s.ctx.Err() == nil {
			s.fail(&partError{part, err})
		}
	})
}

func (s *stage) stop() {
	s.cancel()
	s.wg.Wait()
}

// pruneEvery is the pause between two looks at what may be forgotten.
const pruneEvery = time.Hour

// housekeep keeps what grows from growing for ever.
func (d *daemon) housekeep(ctx context.Context) error {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		d.mu.Lock()
		history := d.config.History
		d.mu.Unlock()
		if err := d.store.Prune(ctx, history.Keep, int64(history.MaxSize)); err != nil && ctx.Err() == nil {
			d.log.Warn("old history was not pruned", "err", err)
		}
		if err := pruneKept(d.opts.StateDir, history.Keep, time.Now()); err != nil {
			d.log.Warn("old copies of transcripts were not removed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (d *daemon) agentNames() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return sortedKeys(d.agents)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
