// Package app builds the daemon from a configuration and runs it: it determines what starts first, what
// stops last, and what changes on a reload.
package app

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"resumed/internal/agent"
	"resumed/internal/agents"
	"resumed/internal/backend"
	"resumed/internal/caller"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/deliver"
	"resumed/internal/feed"
	"resumed/internal/fleet/member"
	"resumed/internal/humanize"
	"resumed/internal/journal"
	"resumed/internal/lease"
	"resumed/internal/metrics"
	"resumed/internal/midturn"
	"resumed/internal/notify"
	"resumed/internal/notify/command"
	"resumed/internal/notify/digest"
	"resumed/internal/ownership"
	"resumed/internal/procfs"
	"resumed/internal/queue"
	"resumed/internal/resume"
	"resumed/internal/resume/engine"
	"resumed/internal/resume/view"
	"resumed/internal/runner"
	"resumed/internal/sdnotify"
	"resumed/internal/starts"
	"resumed/internal/state"
	"resumed/internal/usage"
	"resumed/internal/webui"
)

// daemon is the parts of a running resumed. The parts do not know it: each gets only what it needs from
// the others.
type daemon struct {
	parts
	midturn *midturn.Watcher
	usage   *usage.Collector
	hooks   *feed.HookCalls
	queue   *queue.Queue
	backend *backend.Backend
	server  *control.Server

	disk, people, core, inputs *stage // in reverse order of their stop
}

// Run runs the daemon. It returns nil when ctx is done.
func Run(ctx context.Context, opts Options) error {
	store, err := openState(ctx, opts)
	if err != nil && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() {
		if err := store.Close(); err != nil {
			opts.Log.Error("state could not be closed", "err", err)
		}
	}()
	snapshot, err := store.Load()
	if err != nil {
		return err
	}
	for _, err := range snapshot.Skipped {
		opts.Log.Warn("a stored record was skipped", "err", err)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	d := &daemon{
		parts: parts{opts: opts, store: store, changes: new(control.Changes), firstRead: make(chan struct{})},
		disk:  newStage(ctx, fail), people: newStage(ctx, fail), core: newStage(ctx, fail), inputs: newStage(ctx, fail),
	}
	if err := d.build(snapshot); err != nil {
		return err
	}
	return d.run(ctx, snapshot)
}

// openState waits for a command that adds a task while no daemon runs: on a busy machine it has the state for seconds.
func openState(ctx context.Context, opts Options) (*state.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for ; ; time.Sleep(50 * time.Millisecond) {
		store, err := state.Open(opts.StateDir, opts.Log)
		if _, held := errors.AsType[*state.HeldError](err); !held || ctx.Err() != nil || control.IsRunning(opts.RuntimeDir) || control.IsRunning(opts.StateDir) {
			return store, err
		}
	}
}

// build creates the parts and starts none. Each part is created after those that it needs; a part that
// it needs only while all run is passed as a function.
func (d *daemon) build(snapshot state.Snapshot) error {
	opts := d.opts
	d.maker = maker{path: opts.ConfigPath, memory: d.store, order: d.ordered}
	if !opts.ConfigNamed && slices.Contains(config.Places(os.Getenv), opts.ConfigPath) {
		d.maker.path = "" // a better one may appear
	}
	first, err := d.maker.make(opts.Config, nil)
	if err != nil {
		return err
	}
	d.settings.Store(first)
	d.notifier = d.newNotifier(first)
	d.journal = journal.New(journal.Options{Store: d.store, Changes: d.changes, Log: opts.Log, Tell: d.tell, Amend: d.amend}, snapshot.Sessions)
	d.engine = engine.New(engine.Options{
		Rules: first.rules, Sessions: snapshot.Sessions, Paused: snapshot.Paused, AliveAt: snapshot.AliveAt,
		Act:         func(ctx context.Context, s resume.Session) { d.deliver.Act(ctx, s) },
		Gate:        d.gate,
		Changed:     d.changed,
		StorePaused: d.store.SetPaused,
		Rand:        rand.Float64,
		Mark:        uuid.NewString,
	})
	d.usage = usage.NewCollector(usage.CollectorOptions{
		Store: d.store, Report: d.notifier.TellUsage, Changed: d.changes.NoteDaemon,
		Read: func(ctx context.Context, s resume.Session) ([]usage.Reading, error) {
			if a := d.settings.Load().agents[s.Key.Agent]; a != nil { // otherwise it is switched off
				return a.Readings(ctx, s)
			}
			return nil, nil
		},
	})
	d.queue = queue.New(queue.Options{
		Engine: d.engine, Windows: d.usage.Windows, IsFresh: d.usage.IsFresh, Sync: d.store.Sync, Changed: d.changes.NoteDaemon, Log: opts.Log,
		Agents: func() map[string]agent.Agent { return d.settings.Load().agents },
		Margin: func() time.Duration { return d.settings.Load().rules.Margin },
	})
	d.metrics = metrics.New(opts.Version, metrics.Source{
		Tallies: d.engine.Tallies, Accounts: d.engine.Accounts, Tasks: d.engine.Tasks, Windows: d.usage.Windows, PendingNotices: d.notifier.Pending,
		Agents: func() []string { return d.settings.Load().agentNames() },
		Loaded: func() (time.Time, bool) { return d.settings.Load().loadedAt, d.settings.Load().refused == nil },
		Fleet: func() (metrics.Fleet, bool) {
			figures, ok := d.fleet.Figures()
			return metrics.Fleet(figures), ok
		},
	})
	d.fleet = d.newFleet()
	d.metrics.Expect(first.agentNames(), first.channelNames())
	d.feeds = feed.New(feed.Options{
		Observe:   d.engine.Observe,
		Keep:      d.store.PutCursor,
		Kept:      d.store.Cursor,
		Elsewhere: func(key resume.Key) bool { return lease.HeldByOther(opts.LeaseDirs, key.Agent, key.ID) },
		Since:     func() time.Time { return d.settings.Load().rules.ReadSince(time.Now()) },
		Trust:     func() ownership.Trust { return d.settings.Load().config.Resume.Trust() },
		Log:       opts.Log,
	}, first.agents, snapshot.Cursors)
	d.hooks = feed.NewHookCalls(d.engine.Session, d.feeds.ReadNew, opts.Log)
	d.deliver = deliver.New(deliver.Options{
		StateDir: opts.StateDir, LeaseDirs: opts.LeaseDirs, DryRun: opts.DryRun,
		Settings: func() deliver.Settings { return d.settings.Load().forDelivery() }, Engine: d.engine, Transcripts: d.feeds,
		Starts: starts.In(opts.RuntimeDir), HostLease: d.hostLease, Sync: d.store.Sync, Stopping: d.inputs.stopped, Log: opts.Log,
	}, snapshot.Sessions)
	d.midturn = midturn.New(midturn.Options{
		Engine: d.engine, AliveAt: snapshot.AliveAt, Read: d.firstRead, Log: opts.Log,
		Agent:     func(name string) agent.Agent { return d.settings.Load().agents[name] },
		Rules:     func() resume.Rules { return d.settings.Load().rules },
		Elsewhere: func(key resume.Key) bool { return lease.HeldByOther(opts.LeaseDirs, key.Agent, key.ID) },
	}, snapshot.Sessions)
	return d.buildServers()
}

// buildServers creates the parts that people and programs connect to.
func (d *daemon) buildServers() error {
	opts := d.opts
	d.backend = backend.New(backend.Options{
		Version: opts.Version, DryRun: opts.DryRun, FirstRead: d.firstRead, StateDir: opts.StateDir, Log: opts.Log,
		Settings: func() backend.Settings {
			now := d.settings.Load()
			return backend.Settings{Path: now.path, LoadedAt: now.loadedAt, Refused: now.refused, Agents: now.agents}
		},
		View:     d.view,
		Continue: func(s resume.Session) string { return d.settings.Load().goOn(s) },
		HTTP:     func() (string, error) { return d.web.Where() },
		PageURL:  func(once bool) (string, error) { return d.web.PageURL(once) },
		NewKey:   func() error { return d.web.NewKey() },
		Wake:     func() { d.summary.Wake() },
		Changes:  d.changes, Store: d.store, Engine: d.engine, Notifier: d.notifier, Deliver: d.deliver, Journal: d.journal,
		Usage: d.usage, Hooks: d.hooks, Fleet: d.fleet, Queue: d.queue,
	})
	d.summary = sdnotify.NewSummary(sdnotify.Source{
		Sessions: d.engine.Stored, Paused: d.store.Paused,
		ConfigRefused: func() bool { return d.settings.Load().refused != nil },
	})
	d.web = webui.NewServer(webui.New(d.backend, webui.OpenGrants(opts.StateDir), opts.Log), d.metrics.Handler(), d.engine.Ping, opts.Log)
	d.web.Want(opts.Config.HTTP.Listen)
	server, err := listen(opts, d.backend, d.judge())
	d.server = server
	return err
}

// run starts the parts that others write to first, and stops them in reverse order, so that no part
// calls one that has stopped. before is the state of the earlier daemon.
func (d *daemon) run(ctx context.Context, before state.Snapshot) error {
	d.journal.NoteStart(d.opts.Version, before.AliveAt) // before anything that this daemon decides
	d.disk.run("state", d.store.Run)
	d.people.run("notifier", d.notifier.Run)
	if !d.opts.DryRun {
		d.people.run("state", state.Alarm{Store: d.store, Notifier: d.notifier, Running: d.engine.Running}.Run)
	}
	d.core.run("engine", d.engine.Run)
	d.core.run("recovery", func(ctx context.Context) error { return d.deliver.Recover(ctx, before.Sessions) })
	d.inputs.run("feeds", d.feeds.Run)
	d.inputs.run("control", d.server.Run)
	d.inputs.run("configuration", d.watchConfig)
	d.inputs.run("housekeeping", d.keepHouse)
	d.inputs.run("watchdog", func(ctx context.Context) error { return sdnotify.FeedWatchdog(ctx, d.engine.Ping) })
	d.inputs.run("summary", d.summary.Run)
	d.inputs.run("programs", d.deliver.WatchPrograms)
	d.inputs.run("turns", d.midturn.Run)
	d.inputs.run("usage", d.usage.Run)
	d.inputs.run("hooks", d.hooks.Run)
	d.inputs.run("fleet", d.fleet.Run)
	if !d.opts.DryRun {
		d.inputs.run("digest", d.digester().Run)
	}
	d.inputs.run("http", d.web.Run)

	log := d.opts.Log
	log.Info("watching", "version", d.opts.Version, "pid", os.Getpid(), "config", d.opts.ConfigPath, "dry_run", d.opts.DryRun)
	d.inputs.run("first look", d.logFound)
	sdnotify.Ready("watching")
	d.summary.Wake()
	if d.opts.Ready != nil {
		d.opts.Ready()
	}

	<-ctx.Done()
	sdnotify.Stopping()
	d.inputs.stop()
	d.core.stop()
	d.store.SetAlive(time.Now())
	d.people.stop()
	cause := context.Cause(ctx)
	d.journal.Note(journal.Stopped, cause.Error())
	d.disk.stop()
	if failure, ok := errors.AsType[*partError](cause); ok {
		return failure
	}
	log.Info("stopped", "cause", cause)
	return nil
}

// logFound logs how many sessions were found, once all files in the agents' homes are read, and which
// commands show more: this is for the first start.
func (d *daemon) logFound(ctx context.Context) error {
	defer close(d.firstRead)
	names := d.settings.Load().agentNames()
	for _, name := range names {
		if d.feeds.Await(ctx, name) != nil {
			return nil // the daemon stops
		}
	}
	if tallies, err := d.engine.Tallies(ctx); err == nil {
		sessions, next := humanize.Found(names, tallies)
		d.opts.Log.Info("found", "sessions", sessions, "next", next)
	}
	return nil
}

func (d *daemon) gate(s resume.Session, now time.Time) (why string, until time.Time) {
	if why, until = d.queue.Gate(s, now); why != "" {
		return why, until
	}
	return d.fleet.Gate(s, now)
}

// changed is called by the engine for every change, and does not block.
func (d *daemon) changed(c resume.Change) {
	d.metrics.Observe(c)
	d.summary.Wake()
	d.deliver.Changed(c)
	d.midturn.Changed(c)
	d.usage.Observe(c)
	d.fleet.SessionChanged(c)
	d.journal.Changed(c)
	if d.opts.Seen != nil {
		d.opts.Seen(c)
	}
}

func (d *daemon) newFleet() *member.Client {
	return member.New(member.Options{
		Version: d.opts.Version, DryRun: d.opts.DryRun, Log: d.opts.Log,
		Settings: func() member.Settings {
			now := d.settings.Load()
			return member.Settings{Config: now.config, Agents: now.agents}
		},
		Engine: d.engine, Notifier: d.notifier, Metrics: d.metrics,
		View:    func(s resume.Session) view.Session { return d.settings.Load().view(s) },
		Network: d.opts.network,
		Order: func(ctx context.Context, from, session string, order control.Action) (view.Session, error) {
			return d.backend.DoFor(ctx, from, session, order)
		},
		Changed: d.changes.NoteAll,
	})
}

// hostLease asks the fleet for the lease of a session that other machines can see too.
func (d *daemon) hostLease(ctx context.Context, s resume.Session) (deliver.HostLease, *resume.NotSent) {
	held, refused := d.fleet.Hold(ctx, s)
	if held == nil {
		return nil, refused
	}
	return held, nil
}

func (d *daemon) newNotifier(first *settings) *notify.Notifier {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return notify.New(notify.Options{
		Config: first.notify(), Store: d.store, Log: d.opts.Log, Host: host, Agents: agents.Titles(),
		Count: func(channel string, outcome notify.Outcome) { d.metrics.Delivered(channel, outcome) },
		Share: func(ctx context.Context, n notify.Notice) bool { return d.fleet.Share(ctx, n) }, Changed: d.changes.NoteDaemon,
	})
}

func (d *daemon) digester() digest.Digester {
	return digest.Digester{
		Night:    func(now time.Time) (begins, ends time.Time) { return d.settings.Load().config.Notify.LastNight(now) },
		Sessions: d.engine.Stored,
		View:     d.view,
		Continue: func(s resume.Session) string { return d.settings.Load().goOn(s) },
		Store:    d.store, Notifier: d.notifier, Log: d.opts.Log,
	}
}

func (d *daemon) view(s resume.Session) view.Session {
	return d.settings.Load().view(s)
}

// tell reports an event of a session to people. A dry run reports nothing.
func (d *daemon) tell(event notify.Event, s resume.Session) {
	if !d.opts.DryRun {
		d.notifier.Report(event, d.view(s))
	}
}

func (d *daemon) amend(event notify.Event, s resume.Session) {
	if !d.opts.DryRun {
		d.notifier.Amend(event, d.view(s))
	}
}

// ordered is called when a person presses a button of a notice.
func (d *daemon) ordered(ctx context.Context, order notify.Action, key resume.Key) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	events := map[notify.Action]resume.Event{notify.RetryNow: resume.Retry{}, notify.Forget: resume.Forget{}, notify.Hold: resume.Pause{}}
	if _, err := d.engine.Apply(ctx, key, events[order]); err != nil {
		d.opts.Log.Error("what a button ordered could not be done", "order", order, "session", key.ID, "agent", key.Agent, "err", err)
	}
}

// judge judges who asks the daemon for something.
func (d *daemon) judge() caller.Judge {
	return caller.Judge{
		Proc: procfs.Proc, Daemon: os.Getpid(), Variables: agents.CommandVariables(), Hook: command.Started, Started: runner.Started,
		Agent:         func(pid int) string { return agents.RunBy(d.settings.Load().agents, pid) },
		TrustConfined: func() bool { return d.settings.Load().config.Control.TrustConfined },
	}
}

// listen opens the daemon's socket. If the daemon of another state directory has the usual one, the
// socket is in the state directory.
func listen(opts Options, answers control.Backend, judge caller.Judge) (*control.Server, error) {
	server, err := control.Listen(opts.RuntimeDir, answers, judge, opts.Log)
	if !errors.Is(err, control.ErrTaken) {
		return server, err
	}
	opts.Log.Warn("the usual control socket is another daemon's, this one has its own", "dir", opts.StateDir)
	return control.Listen(opts.StateDir, answers, judge, opts.Log)
}
