package app

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"time"

	"resumed/internal/agents"
	"resumed/internal/control"
	"resumed/internal/deliver"
	"resumed/internal/feed"
	"resumed/internal/fleet/member"
	"resumed/internal/journal"
	"resumed/internal/notify"
	"resumed/internal/queue"
	"resumed/internal/resume"
	"resumed/internal/resume/engine"
	"resumed/internal/resume/view"
	"resumed/internal/state"
	"resumed/internal/usage"
	"resumed/internal/webui"
)

// backend answers the control socket and the page.
type backend struct {
	opts      Options
	startedAt time.Time
	settings  *inForce
	changes   *control.Changes
	store     *state.Store
	engine    *engine.Engine
	notifier  *notify.Notifier
	deliver   *deliver.Deliverer
	journal   *journal.Journal
	pause     *pauseSwitch
	web       *webui.Server
	usage     *usage.Collector
	hooks     *feed.HookCalls
	fleet     *member.Client
	queue     *queue.Queue
	reload    func(context.Context) error
	wake      func() // says that something changed
}

func (b *backend) Queue() control.Tasks { return b.queue }

func (b *backend) Changes() *control.Changes { return b.changes }

func (b *backend) Status(ctx context.Context, all bool, only ...resume.Key) (control.Status, error) {
	sessions, err := b.sessions(ctx, all, only)
	if err != nil {
		return control.Status{}, err
	}
	accounts, err := b.engine.Accounts(ctx)
	if err != nil {
		return control.Status{}, err
	}
	status := control.Status{
		Version:  1,
		Now:      time.Now().UTC(),
		Daemon:   b.self(ctx, accounts),
		Accounts: b.accounts(accounts, all),
	}
	slices.SortFunc(sessions, func(x, y *resume.Session) int { // before they are views, which are moved less easily
		return cmp.Or(cmp.Compare(x.Key.Agent, y.Key.Agent), cmp.Compare(x.Key.ID, y.Key.ID))
	})
	status.Sessions = make([]view.Session, 0, len(sessions))
	for _, s := range sessions {
		status.Sessions = append(status.Sessions, b.settings.view(*s))
	}
	return status, nil
}

// sessions asks the engine for no more than is shown.
func (b *backend) sessions(ctx context.Context, all bool, only []resume.Key) ([]*resume.Session, error) {
	switch {
	case len(only) > 0:
		these, err := b.engine.These(ctx, only)
		if len(these) == 1 && these[0].Interrupted() { // somebody looks at it: it may have been counted since
			these[0] = new(b.deliver.Price(ctx, b.settings.Load().agents[these[0].Key.Agent], *these[0]))
		}
		return slices.DeleteFunc(these, func(s *resume.Session) bool { return !all && !s.WorthKeeping() }), err
	case all:
		return b.engine.Sessions(ctx)
	default:
		return b.engine.Kept(ctx)
	}
}

func (b *backend) Find(ctx context.Context, name string) (resume.Key, error) {
	return b.engine.Find(ctx, name)
}

func (b *backend) Plan(ctx context.Context, key resume.Key) (view.Plan, error) {
	session, err := b.engine.Session(ctx, key)
	if err != nil {
		return view.Plan{}, err
	}
	return b.deliver.Preview(ctx, session), nil
}

func (b *backend) self(ctx context.Context, accounts []resume.Account) control.Daemon {
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
		Agents:    watched(now.agentNames(), accounts),
		Problems:  []string{},
		Fleet:     b.fleet.Standing(),
		Queue:     b.queue.Count(ctx),
	}
	if why := b.fleet.Problem(); why != "" {
		self.Problems = append(self.Problems, why)
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

// accounts shows how the accounts stand that have a session in the list of all, or
// of those that are kept.
func (b *backend) accounts(known []resume.Account, all bool) []control.Account {
	shown := []control.Account{}
	for _, a := range known {
		windows := b.usage.Windows(a.AccountKey)
		if a.Kept == 0 && len(windows) == 0 && (!all || a.Sessions == 0) {
			continue
		}
		account := control.Account{Name: a.Name, Provider: a.Provider, State: string(a.State), Sessions: a.Sessions, Windows: windows}
		if !a.ResetAt.IsZero() {
			account.ResetAt = new(a.ResetAt.UTC())
		}
		shown = append(shown, account)
	}
	slices.SortFunc(shown, func(x, y control.Account) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Provider, y.Provider))
	})
	return shown
}

func (b *backend) Do(ctx context.Context, key resume.Key, order control.Order) (view.Session, error) {
	if order == control.OwnKey {
		return b.pay(ctx, key)
	}
	if order == control.AskOwnKey {
		session, err := b.payable(ctx, key)
		return b.settings.view(session), err
	}
	return b.do(ctx, "", key, order)
}

// do carries out an order of another host, or of a person of this one where by is empty.
func (b *backend) do(ctx context.Context, by string, key resume.Key, order control.Order) (view.Session, error) {
	events := map[control.Order]resume.Event{
		control.Retry:   resume.Retry{By: by},
		control.Cancel:  resume.Forget{By: by},
		control.Stop:    resume.Forget{},
		control.Pause:   resume.Pause{By: by},
		control.Unpause: resume.Unpause{},
	}
	after, err := b.engine.Apply(ctx, key, events[order])
	if err != nil {
		return view.Session{}, err
	}
	if order == control.Stop && after.Run != nil {
		if err := b.deliver.Stop(ctx, key, after.Run.Mark); err != nil {
			return view.Session{}, err
		}
	}
	if by == "" {
		b.opts.Log.Info("ordered by a person", "order", order, "session", key.ID, "agent", key.Agent)
	} else {
		b.opts.Log.Info("asked for by another machine", "host", by, "order", order, "session", key.ID, "agent", key.Agent)
	}
	return b.settings.view(after), b.store.Sync(ctx, key)
}

func (b *backend) Told(ctx context.Context, key resume.Key, readings []usage.Reading) error {
	session, err := b.engine.Session(ctx, key)
	if err == nil {
		b.usage.Add(session.AccountKey(), readings)
	}
	return err
}

func (b *backend) Nudge(nudge control.Nudge) error {
	if agents.Hook(nudge.Agent) == nil {
		return fmt.Errorf("no agent %q calls a hook", nudge.Agent)
	}
	b.opts.Log.Debug("a hook asks for a look", "agent", nudge.Agent, "session", nudge.Session, "pid", nudge.PID, "terminal", nudge.Terminal)
	b.hooks.Take(resume.Key{Agent: nudge.Agent, ID: nudge.Session}, nudge.Transcript)
	return nil
}

// ordered is Do for another host, which calls a session as a person would.
func (b *backend) ordered(ctx context.Context, from, session string, order control.Order) (view.Session, error) {
	key, err := b.Find(ctx, session)
	if err != nil {
		return view.Session{}, err
	}
	return b.do(ctx, from, key, order)
}

func (b *backend) Fleet(ctx context.Context, after string, most int) (control.Fleet, error) {
	return b.fleet.Page(ctx, after, most)
}

func (b *backend) ForgetAccount(ctx context.Context, name string) error {
	return b.fleet.Forget(ctx, name)
}

func (b *backend) DoAway(ctx context.Context, host, session string, order control.Order) (view.Session, error) {
	return b.fleet.Do(ctx, host, session, order)
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
