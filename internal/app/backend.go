package app

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"slices"
	"time"

	"resumed/internal/control"
	"resumed/internal/notify"
	"resumed/internal/resume"
)

// backend answers the control socket.
type backend struct{ d *daemon }

func (b backend) Changes() *control.Changes { return &b.d.changes }

func (b backend) Status(ctx context.Context, all bool, only ...resume.Key) (control.Status, error) {
	sessions, err := b.d.engine.Sessions(ctx)
	if err != nil {
		return control.Status{}, err
	}
	if !all {
		sessions = slices.DeleteFunc(sessions, func(s resume.Session) bool { return !s.WorthKeeping() })
	}
	accounts, err := b.accounts(ctx, sessions)
	if err != nil {
		return control.Status{}, err
	}
	status := control.Status{
		Version:  1,
		Now:      time.Now().UTC(),
		Daemon:   b.daemon(),
		Accounts: accounts,
	}
	if len(only) > 0 {
		wanted := make(map[resume.Key]bool, len(only))
		for _, key := range only {
			wanted[key] = true
		}
		sessions = slices.DeleteFunc(sessions, func(s resume.Session) bool { return !wanted[s.Key] })
	}
	status.Sessions = make([]resume.View, 0, len(sessions))
	for _, s := range sessions {
		status.Sessions = append(status.Sessions, b.d.view(s))
	}
	slices.SortFunc(status.Sessions, func(x, y resume.View) int {
		return cmp.Or(cmp.Compare(x.Agent, y.Agent), cmp.Compare(x.ID, y.ID))
	})
	return status, nil
}

func (b backend) daemon() control.Daemon {
	d := b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	address, httpErr := d.web.where()
	daemon := control.Daemon{
		PID:       os.Getpid(),
		Version:   d.opts.Version,
		StartedAt: d.startedAt.UTC(),
		Paused:    d.paused,
		DryRun:    d.opts.DryRun,
		Config: control.Config{
			Path:     d.path,
			LoadedAt: d.loadedAt.UTC(),
			OK:       d.loadErr == nil,
		},
		HTTP:     address,
		Notices:  notices(d.notifier.Figures()),
		Problems: []string{},
	}
	if httpErr != nil {
		daemon.Problems = append(daemon.Problems, httpErr.Error())
	}
	if d.loadErr != nil {
		daemon.Config.Error = new(d.loadErr.Error())
	}
	if err := d.store.Err(); err != nil {
		daemon.Problems = append(daemon.Problems, "state cannot be written: "+err.Error())
	}
	return daemon
}

func notices(figures []notify.Figures) control.Notices {
	sum := control.Notices{Channels: make([]control.Channel, 0, len(figures))}
	for _, f := range figures {
		sum.Pending += f.Pending
		sum.Failed += f.Failed
		sum.Channels = append(sum.Channels, control.Channel(f))
	}
	return sum
}

// accounts shows how the accounts stand that have a session in the list.
func (b backend) accounts(ctx context.Context, sessions []resume.Session) ([]control.Account, error) {
	known, err := b.d.engine.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	listed := make(map[resume.AccountKey]bool)
	for _, s := range sessions {
		listed[s.AccountKey()] = true
	}
	all := []control.Account{}
	for _, a := range known {
		if !listed[a.AccountKey] {
			continue
		}
		account := control.Account{Name: a.Name, Provider: a.Provider, State: string(a.State), Sessions: a.Sessions}
		if !a.ResetAt.IsZero() {
			account.ResetAt = new(a.ResetAt.UTC())
		}
		all = append(all, account)
	}
	slices.SortFunc(all, func(x, y control.Account) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Provider, y.Provider))
	})
	return all, nil
}

// view shows a session with the bound that the rules in force give it.
func (d *daemon) view(s resume.Session) resume.View {
	d.mu.Lock()
	rules := d.rules
	d.mu.Unlock()
	return s.View(rules.Policy(s.Key.Agent, s.Limit.Class).MaxRetries)
}

func (b backend) Do(ctx context.Context, key resume.Key, order control.Order) (resume.View, error) {
	events := map[control.Order]resume.Event{
		control.Retry:   resume.Retry{},
		control.Cancel:  resume.Forget{},
		control.Stop:    resume.Forget{},
		control.Pause:   resume.Pause{},
		control.Unpause: resume.Unpause{},
	}
	after, err := b.d.engine.Apply(ctx, key, events[order])
	if err != nil {
		return resume.View{}, err
	}
	if order == control.Stop && after.Run != nil {
		if err := b.d.stopRun(ctx, key, after.Run.Mark); err != nil {
			return resume.View{}, err
		}
	}
	b.d.log.Info("ordered by a person", "order", order, "session", key.ID, "agent", key.Agent)
	return b.d.view(after), b.d.store.Sync(ctx)
}

// stopPatience is how long a command that is being started is waited for.
const stopPatience = 15 * time.Second

// stopRun ends a command, also one that is just being started. A prompt that
// was handed to another's process has none.
func (d *daemon) stopRun(ctx context.Context, key resume.Key, mark string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stopPatience, errors.New("the resume is still being started: try again"))
	defer cancel()
	for ; ctx.Err() == nil; pause(ctx, lookPause) {
		d.mu.Lock()
		process := d.running[mark]
		d.mu.Unlock()
		if process != nil {
			return process.Stop(context.WithoutCancel(ctx))
		}
		session, err := d.engine.Session(ctx, key)
		if err != nil || session.Run == nil || session.Run.Mark != mark || session.Run.Unverifiable {
			return err
		}
	}
	return context.Cause(ctx)
}

func (b backend) SetPaused(ctx context.Context, paused bool) error {
	if err := b.d.engine.SetPaused(ctx, paused); err != nil {
		return err
	}
	b.d.mu.Lock()
	b.d.paused = paused
	b.d.mu.Unlock()
	b.d.store.SetPaused(paused)
	b.d.changes.NoteAll()
	kind := kindUnpaused
	if paused {
		kind = kindPaused
	}
	b.d.note(kind, "ordered by you")
	b.d.summary.wake()
	b.d.log.Info("ordered by a person", "paused", paused)
	return b.d.store.Sync(ctx)
}

func (b backend) History(ctx context.Context, name string, since time.Time) (iter.Seq2[control.Step, error], error) {
	var known []resume.View
	if name != "" {
		status, err := b.Status(ctx, true)
		if err != nil {
			return nil, err
		}
		known = status.Sessions
	}
	return History(ctx, b.d.store, name, since, known)
}

func (b backend) PageURL(once bool) (string, error) { return b.d.web.pageURL(once) }

func (b backend) Reload(ctx context.Context) error {
	if err := b.d.reload(ctx); err != nil {
		return &control.ConfigError{Err: err}
	}
	return nil
}

// listen opens the door to the daemon: in the state directory where another
// daemon, of another state directory, has the usual one.
func (d *daemon) listen(opts Options) (*control.Server, error) {
	server, err := control.Listen(opts.RuntimeDir, backend{d}, opts.Log)
	if !errors.Is(err, control.ErrTaken) {
		return server, err
	}
	opts.Log.Warn("the usual control socket is another daemon's, this one has its own", "dir", opts.StateDir)
	return control.Listen(opts.StateDir, backend{d}, opts.Log)
}
