// Package backend answers the requests of the control socket and of the page.
package backend

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
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
)

// Options configure a Backend. All are required.
type Options struct {
	Version  string
	DryRun   bool
	StateDir string
	Log      *slog.Logger

	FirstRead <-chan struct{}                   // closed when all transcripts that there were at the start are read
	Settings  func() Settings                   // the current ones
	View      func(resume.Session) view.Session // what people are shown of a session
	Continue  func(resume.Session) string       // the command that continues a session
	HTTP      func() (address string, err error)
	PageURL   func(once bool) (string, error)
	NewKey    func() error // of the page
	Wake      func()       // the summary of the daemon has changed

	Changes  *control.Changes
	Store    *state.Store
	Engine   *engine.Engine
	Notifier *notify.Notifier
	Deliver  *deliver.Deliverer
	Journal  *journal.Journal
	Usage    *usage.Collector
	Hooks    *feed.HookCalls
	Fleet    *member.Client
	Queue    *queue.Queue
}

// Settings are the parts of the current settings that are shown.
type Settings struct {
	Path     string // of the configuration file; "": built-in defaults
	LoadedAt time.Time
	Refused  error // why a newer file is not used
	Agents   map[string]agent.Agent
}

// Backend answers the requests of the control socket and of the page.
type Backend struct {
	control.FleetBackend

	opts      Options
	startedAt time.Time
	refusals  refusals
}

// New returns the backend of one daemon.
func New(opts Options) *Backend {
	return &Backend{FleetBackend: opts.Fleet, opts: opts, startedAt: time.Now()}
}

// Queue returns what answers requests about tasks.
func (b *Backend) Queue() control.Tasks { return b.opts.Queue }

// Changes is where clients subscribe to changes.
func (b *Backend) Changes() *control.Changes { return b.opts.Changes }

// Status returns the state of the daemon and its sessions; without all, only those that matter to
// people.
func (b *Backend) Status(ctx context.Context, all bool, only ...resume.Key) (control.Status, error) {
	sessions, err := b.sessions(ctx, all, only)
	if err != nil {
		return control.Status{}, err
	}
	accounts, err := b.opts.Engine.Accounts(ctx)
	if err != nil {
		return control.Status{}, err
	}
	status := control.Status{
		Version:  1,
		Now:      time.Now().UTC(),
		Daemon:   b.self(ctx, accounts),
		Accounts: b.accounts(accounts, all),
	}
	slices.SortFunc(sessions, func(x, y *resume.Session) int { // sorted before the conversion: views are larger and slower to move
		return cmp.Or(cmp.Compare(x.Key.Agent, y.Key.Agent), cmp.Compare(x.Key.ID, y.Key.ID))
	})
	status.Sessions = make([]view.Session, 0, len(sessions))
	probes := make(map[resume.AccountKey]*resume.Probe)
	for _, a := range accounts {
		probes[a.AccountKey] = a.Probe
	}
	for _, s := range sessions {
		v := b.opts.View(*s)
		if v.Held && v.Reason == resume.OneByOne {
			v.WaitsFor = probes[s.AccountKey()]
		}
		status.Sessions = append(status.Sessions, v)
	}
	return status, nil
}

// sessions loads no more sessions than are shown.
func (b *Backend) sessions(ctx context.Context, all bool, only []resume.Key) ([]*resume.Session, error) {
	switch {
	case len(only) > 0:
		these, err := b.opts.Engine.These(ctx, only)
		return slices.DeleteFunc(these, func(s *resume.Session) bool { return !all && !s.WorthKeeping() }), err
	case all:
		return b.opts.Engine.Sessions(ctx)
	default:
		return b.opts.Engine.Stored(ctx)
	}
}

// Find returns the session that a text refers to.
func (b *Backend) Find(ctx context.Context, name string) (resume.Key, error) {
	return b.opts.Engine.Find(ctx, name)
}

// Session returns the state with only the session that a text refers to, and what its next resume would do.
func (b *Backend) Session(ctx context.Context, name string) (control.Status, error) {
	key, err := b.Find(ctx, name)
	if err != nil {
		return control.Status{}, err
	}
	status, err := b.Status(ctx, true, key)
	if err == nil && len(status.Sessions) == 0 {
		err = resume.ErrNoSession
	}
	if err != nil {
		return control.Status{}, err
	}
	if session, err := b.opts.Engine.Session(ctx, key); err == nil { // on an error it was removed meanwhile
		status.Sessions[0].Plan = new(b.opts.Deliver.Preview(ctx, session))
	}
	return status, nil
}

func (b *Backend) self(ctx context.Context, accounts []resume.Account) control.Daemon {
	now := b.opts.Settings()
	address, httpErr := b.opts.HTTP()
	self := control.Daemon{
		PID:       os.Getpid(),
		Version:   b.opts.Version,
		StartedAt: b.startedAt.UTC(),
		Paused:    b.opts.Store.Paused(),
		DryRun:    b.opts.DryRun,
		Config:    control.Config{Path: now.Path, LoadedAt: now.LoadedAt.UTC(), OK: now.Refused == nil},
		HTTP:      address,
		Notices:   notices(b.opts.Notifier.Figures()),
		Agents:    watched(slices.Sorted(maps.Keys(now.Agents)), accounts),
		Problems:  []string{},
		Fleet:     b.opts.Fleet.Standing(),
		Queue:     b.opts.Queue.Count(ctx),
	}
	select {
	case <-b.opts.FirstRead:
	default:
		self.Reading = true
	}
	if why := b.opts.Fleet.Problem(); why != "" {
		self.Problems = append(self.Problems, why)
	}
	if httpErr != nil {
		self.Problems = append(self.Problems, httpErr.Error())
	}
	if now.Refused != nil {
		self.Config.Error = new(now.Refused.Error())
	}
	self.Problems = append(self.Problems, b.opts.Store.Found()...)
	if err := b.opts.Store.Err(); err != nil {
		self.Problems = append(self.Problems, "state cannot be written: "+err.Error())
	}
	return self
}

func watched(names []string, accounts []resume.Account) []control.Watched {
	all := make([]control.Watched, len(names))
	for i, name := range names {
		all[i].Name = name
		var moved time.Time
		for _, a := range accounts {
			if strings.HasPrefix(a.Name, name+":") {
				all[i].Sessions += a.Sessions
				moved = resume.Later(moved, a.MovedAt)
			}
		}
		if !moved.IsZero() && resume.FitsJSON(moved) {
			all[i].MovedAt = new(moved.UTC())
		}
	}
	return all
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

// accounts returns the accounts of the listed sessions: of all, or of those that are kept.
func (b *Backend) accounts(known []resume.Account, all bool) []control.Account {
	shown := []control.Account{}
	for _, a := range known {
		windows := b.opts.Usage.Windows(a.AccountKey)
		if a.Kept == 0 && len(windows) == 0 && (!all || a.Sessions == 0) {
			continue
		}
		account := control.Account{Name: a.Name, Provider: a.Provider, State: string(a.State), Sessions: a.Sessions, Probe: a.Probe, Windows: windows}
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

// Do carries out an order of a person for one session.
func (b *Backend) Do(ctx context.Context, key resume.Key, order control.Action) (view.Session, error) {
	return b.do(ctx, "", key, order)
}

// earlyUntil returns the time that the provider named, if a retry now would come before it: to the session
// itself, or to the account of a task.
func (b *Backend) earlyUntil(ctx context.Context, key resume.Key) (until time.Time, err error) {
	session, err := b.opts.Engine.Session(ctx, key)
	switch {
	case err != nil:
		return until, err
	case session.Early(time.Now()):
		return session.Limit.Reset.At, nil
	case !session.Pending():
		return until, nil
	}
	accounts, err := b.opts.Engine.Accounts(ctx)
	for _, a := range accounts {
		if a.AccountKey == session.AccountKey() {
			until = a.ResetAt
		}
	}
	return until, err
}

// do carries out an order of another host; if by is empty, of a person on this host.
func (b *Backend) do(ctx context.Context, by string, key resume.Key, order control.Action) (view.Session, error) {
	retry := resume.Retry{By: by, Now: order == control.Retry}
	if order == control.Due {
		until, err := b.earlyUntil(ctx, key)
		if err != nil {
			return view.Session{}, err
		}
		if until.After(time.Now()) {
			return view.Session{}, fmt.Errorf("%w until %s", control.ErrEarly, until.UTC().Format(time.RFC3339))
		}
		order = control.Retry
	}
	events := map[control.Action]resume.Event{
		control.Retry:   retry,
		control.Cancel:  resume.Forget{By: by},
		control.Stop:    resume.Forget{},
		control.Pause:   resume.Pause{By: by},
		control.Unpause: resume.Unpause{},
	}
	after, err := b.opts.Engine.Apply(ctx, key, events[order])
	if err != nil {
		return view.Session{}, err
	}
	if order == control.Stop && after.Run != nil {
		if err := b.opts.Deliver.Stop(ctx, key, after.Run.Mark); err != nil {
			return view.Session{}, err
		}
	}
	if by == "" {
		b.opts.Log.Info("ordered by a person", "order", order, "session", key.ID, "agent", key.Agent)
	} else {
		b.opts.Log.Info("asked for by another machine", "host", by, "order", order, "session", key.ID, "agent", key.Agent)
	}
	return b.after(ctx, after), b.opts.Store.Sync(ctx, key)
}

// after returns a session after an order. One that is due was just started, or says what holds it back.
func (b *Backend) after(ctx context.Context, s resume.Session) view.Session {
	if s.State == resume.Waiting {
		status, err := b.Status(ctx, true, s.Key)
		if err == nil && len(status.Sessions) == 1 && status.Sessions[0].State == resume.Waiting {
			return status.Sessions[0]
		}
	}
	return b.opts.View(s)
}

// DoFor carries out an order of another host, which names a session like a person would.
func (b *Backend) DoFor(ctx context.Context, from, session string, order control.Action) (view.Session, error) {
	key, err := b.Find(ctx, session)
	if err != nil {
		return view.Session{}, err
	}
	return b.do(ctx, from, key, order)
}

// SetPaused holds back all resumes, or releases them.
func (b *Backend) SetPaused(ctx context.Context, paused bool) error {
	if err := b.opts.Engine.SetPaused(ctx, paused); err != nil {
		return err
	}
	b.opts.Changes.NoteAll()
	kind := journal.Unpaused
	if paused {
		kind = journal.Paused
	}
	b.opts.Journal.Note(kind, "ordered by you")
	b.opts.Wake()
	b.opts.Log.Info("ordered by a person", "paused", paused)
	return b.opts.Store.Sync(ctx)
}

// History returns the steps of a session since a time.
func (b *Backend) History(ctx context.Context, name string, since time.Time) (iter.Seq2[control.Step, error], error) {
	status, err := b.Status(ctx, true)
	if err != nil {
		return nil, err
	}
	return journal.History(ctx, b.opts.Store, name, since, status.Sessions)
}

// PageURL returns the address of the page.
func (b *Backend) PageURL(once bool) (string, error) { return b.opts.PageURL(once) }

// NewPageKey ends all links to the page, and all browsers that were let in.
func (b *Backend) NewPageKey() error { return b.opts.NewKey() }
