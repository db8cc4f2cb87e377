package app

import (
	"cmp"
	"context"
	"iter"
	"os"
	"slices"
	"time"

	"resumed/internal/control"
	"resumed/internal/deliver"
	"resumed/internal/journal"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/state"
	"resumed/internal/webui"
)

// backend answers the control socket and the page.
type backend struct {
	opts      Options
	startedAt time.Time
	settings  *inForce
	changes   *control.Changes
	store     *state.Store
	engine    *resume.Engine
	notifier  *notify.Notifier
	deliver   *deliver.Deliverer
	journal   *journal.Journal
	pause     *pauseSwitch
	web       *webui.Server
	reload    func(context.Context) error
	wake      func() // says that something changed
}

func (b *backend) Changes() *control.Changes { return b.changes }

func (b *backend) Status(ctx context.Context, all bool, only ...resume.Key) (control.Status, error) {
	sessions, err := b.engine.Sessions(ctx)
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
		Daemon:   b.self(),
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
		status.Sessions = append(status.Sessions, b.settings.Load().view(s))
	}
	slices.SortFunc(status.Sessions, func(x, y resume.View) int {
		return cmp.Or(cmp.Compare(x.Agent, y.Agent), cmp.Compare(x.ID, y.ID))
	})
	return status, nil
}

func (b *backend) Plan(ctx context.Context, key resume.Key) (resume.PlanView, error) {
	session, err := b.engine.Session(ctx, key)
	if err != nil {
		return resume.PlanView{}, err
	}
	return b.deliver.Preview(ctx, session), nil
}

func (b *backend) self() control.Daemon {
	now := b.settings.Load()
	address, httpErr := b.web.Where()
	self := control.Daemon{
		PID:       os.Getpid(),
		Version:   b.opts.Version,
		StartedAt: b.startedAt.UTC(),
		Paused:    b.pause.paused.Load(),
		DryRun:    b.opts.DryRun,
		Config:    control.Config{Path: now.path, LoadedAt: now.loadedAt.UTC(), OK: now.refused == nil},
		HTTP:      address,
		Notices:   notices(b.notifier.Figures()),
		Problems:  []string{},
	}
	if httpErr != nil {
		self.Problems = append(self.Problems, httpErr.Error())
	}
	if now.refused != nil {
		self.Config.Error = new(now.refused.Error())
	}
	self.Problems = append(self.Problems, b.store.Found()...)
	if err := b.store.Err(); err != nil {
		self.Problems = append(self.Problems, "state cannot be written: "+err.Error())
	}
	return self
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
func (b *backend) accounts(ctx context.Context, sessions []resume.Session) ([]control.Account, error) {
	known, err := b.engine.Accounts(ctx)
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

func (b *backend) Do(ctx context.Context, key resume.Key, order control.Order) (resume.View, error) {
	events := map[control.Order]resume.Event{
		control.Retry:   resume.Retry{},
		control.Cancel:  resume.Forget{},
		control.Stop:    resume.Forget{},
		control.Pause:   resume.Pause{},
		control.Unpause: resume.Unpause{},
	}
	after, err := b.engine.Apply(ctx, key, events[order])
	if err != nil {
		return resume.View{}, err
	}
	if order == control.Stop && after.Run != nil {
		if err := b.deliver.Stop(ctx, key, after.Run.Mark); err != nil {
			return resume.View{}, err
		}
	}
	b.opts.Log.Info("ordered by a person", "order", order, "session", key.ID, "agent", key.Agent)
	return b.settings.Load().view(after), b.store.Sync(ctx, key)
}

func (b *backend) SetPaused(ctx context.Context, paused bool) error {
	if err := b.pause.set(ctx, paused); err != nil {
		return err
	}
	b.changes.NoteAll()
	kind := journal.Unpaused
	if paused {
		kind = journal.Paused
	}
	b.journal.Note(kind, "ordered by you")
	b.wake()
	b.opts.Log.Info("ordered by a person", "paused", paused)
	return b.store.Sync(ctx)
}

func (b *backend) History(ctx context.Context, name string, since time.Time) (iter.Seq2[control.Step, error], error) {
	status, err := b.Status(ctx, true)
	if err != nil {
		return nil, err
	}
	return journal.History(ctx, b.store, name, since, status.Sessions)
}

func (b *backend) PageURL(once bool) (string, error) { return b.web.PageURL(once) }

func (b *backend) Reload(ctx context.Context) error {
	if err := b.reload(ctx); err != nil {
		return &control.ConfigError{Err: err}
	}
	return nil
}
