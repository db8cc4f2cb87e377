package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/control"
	"resumed/internal/deliver"
	"resumed/internal/journal"
	"resumed/internal/limit"
	"resumed/internal/notify"
	"resumed/internal/ownership"
	"resumed/internal/prompt"
	"resumed/internal/resume"
	"resumed/internal/resume/engine"
	"resumed/internal/resume/sentence"
	"resumed/internal/resume/view"
	"resumed/internal/starts"
	"resumed/internal/state"
)

// life is one daemon, from its start to its end. What it is made of is real.
type life struct {
	*world
	dir      string // its state
	store    *state.Store
	engine   *engine.Engine
	deliver  *deliver.Deliverer
	journal  *journal.Journal
	notifier *notify.Notifier
	quiet    *slog.Logger

	disk, people, core *part

	// Guarded by the world's mutex.
	dead     bool
	stopping bool
	gates    []*gate
	seen     map[resume.Key]int // lines that were read
	claims   map[string]*claim
}

// claim is what a life has decided about one resume.
type claim struct {
	place          *place
	handed         bool // that it may be handed to a process
	onDisk, toldIt bool // the claim is on disk; and so is that
}

// gate is where a daemon is about to touch the world.
type gate struct {
	name string
	pass chan fate
}

type fate struct {
	alive bool
	dice  int
}

var errDead = errors.New("the daemon is dead")

// pass waits until the world lets the daemon through. A dead one has no effect any more.
func (l *life) pass(format string, args ...any) (dice int, alive bool) {
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return 0, false
	}
	g := &gate{name: fmt.Sprintf(format, args...), pass: make(chan fate, 1)}
	l.gates = append(l.gates, g)
	l.mu.Unlock()
	f := <-g.pass
	return f.dice, f.alive
}

// part is goroutines that end together.
type part struct {
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup
}

func (w *world) newPart() *part {
	ctx, cancel := context.WithCancel(w.t.Context())
	return &part{ctx: ctx, cancel: cancel}
}

func (p *part) run(f func(context.Context) error) { p.wait.Go(func() { _ = f(p.ctx) }) }

// start begins the life of a daemon with what the disk has, in the order of the
// real one.
func (w *world) start(dir string) {
	w.counts.lives++
	if dir == "" {
		dir = filepath.Join(w.home, fmt.Sprint("life-", w.counts.lives))
	}
	l := &life{
		world: w, dir: dir, quiet: slog.New(slog.DiscardHandler),
		disk: w.newPart(), people: w.newPart(), core: w.newPart(),
		seen: make(map[resume.Key]int), claims: make(map[string]*claim),
	}
	var err error
	l.store, err = state.Open(dir, l.quiet)
	require.NoError(w.t, err)
	snapshot, err := l.store.Load()
	require.NoError(w.t, err)
	require.Empty(w.t, l.store.Found(), "a daemon that dies damages nothing")
	l.remember(snapshot)
	w.mu.Lock()
	w.life = l
	w.log("START with %d sessions", len(snapshot.Sessions))
	w.mu.Unlock()
	l.build(snapshot)
	l.disk.run(l.store.Run)
	l.people.run(l.notifier.Run)
	l.core.run(l.engine.Run)
	l.core.run(func(ctx context.Context) error { return l.deliver.Recover(ctx, snapshot.Sessions) })
	l.core.run(l.deliver.WatchPrograms)
	synctest.Wait()
}

// remember takes over what the disk knows.
func (l *life) remember(snapshot state.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.places {
		if data, ok := snapshot.Cursors[p.path()]; ok {
			var line int
			require.NoError(l.t, json.Unmarshal(data, &line))
			l.seen[p.key] = line
		}
	}
	for _, s := range snapshot.Sessions {
		l.stands(s)
		if s.Run != nil {
			l.claims[s.Run.Mark] = &claim{place: l.world.place(s.Key), onDisk: true}
		}
	}
}

func (l *life) build(snapshot state.Snapshot) {
	var channels []*notify.Channel
	for _, p := range l.phones {
		ch, err := notify.NewChannel(notify.Common{Name: p.name, To: p.name, Events: []notify.Event{notify.GaveUp, notify.Parked}}, &line{life: l, phone: p})
		require.NoError(l.t, err)
		channels = append(channels, ch)
	}
	l.notifier = notify.New(notify.Options{
		Config: notify.Config{Channels: channels, GroupWait: 2 * time.Second}, Store: outbox{l.store, l},
		Log: l.quiet, Host: "here", Rand: func() float64 { return 0.5 },
	})
	l.journal = journal.New(journal.Options{Store: l.store, Changes: new(control.Changes), Log: l.quiet, Tell: l.tell, Amend: l.amend}, snapshot.Sessions)
	chance := rand.New(rand.NewPCG(l.dice.Uint64(), 5))
	l.engine = engine.New(engine.Options{
		Rules: l.rules, Sessions: snapshot.Sessions, Paused: snapshot.Paused,
		Act: l.act, Changed: l.changed, Rand: chance.Float64, Mark: l.mark,
	})
	l.deliver = deliver.New(deliver.Options{
		StateDir: l.home, LeaseDirs: []string{filepath.Join(l.home, "leases")},
		Settings: l.settings, Engine: core{l.engine, l}, Transcripts: transcripts{l}, Sync: l.sync,
		Starts:  starts.In(filepath.Join(l.home, "runtime")),
		Machine: computer{l}, Stopping: l.isStopping, Log: l.quiet,
	}, snapshot.Sessions)
}

func (l *life) settings() deliver.Settings {
	return deliver.Settings{
		SameMode: true,
		Prompts:  prompt.Prompts{Usual: "continue"}, Live: deliver.Type, Timeout: time.Hour,
		Agent: func(string) agent.Agent { return &bot{life: l} },
		Env:   func(string) ([]string, error) { return nil, nil },
		Trust: ownership.Trust{Users: []string{ownership.Everybody}},
	}
}

func (l *life) mark() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.marks++
	return fmt.Sprint("m", l.counts.marks)
}

func (l *life) isStopping() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopping
}

// act is told by the engine that a session is due.
func (l *life) act(ctx context.Context, s resume.Session) {
	p := l.world.place(s.Key)
	l.mu.Lock()
	p.acting++
	p.sent = false
	l.mu.Unlock()
	if l.bug != dropsDue || s.Run.N%4 > 0 {
		l.deliver.Act(ctx, s)
	}
	l.mu.Lock()
	p.acting--
	l.mu.Unlock()
}

// changed is told every step by the engine.
func (l *life) changed(c resume.Change) {
	l.mu.Lock()
	if !l.dead {
		l.counts.steps++
		l.log("%s %s: %s -> %s %s", c.After.Key.ID, strings.TrimPrefix(fmt.Sprintf("%T", c.Event), "resume."), c.Before.State, c.After.State, sentence.Of(c.After))
		l.judge(c)
	}
	l.mu.Unlock()
	l.deliver.Changed(c)
	l.journal.Changed(c)
}

func (l *life) amend(event notify.Event, s resume.Session) {
	view := view.Of(s, maxRetries)
	view.Program = callOf(s)
	l.notifier.Amend(event, view)
}

func (l *life) tell(event notify.Event, s resume.Session) {
	if l.bug == forgetsToTell && len(s.Attempts) == maxRetries {
		return
	}
	view := view.Of(s, maxRetries)
	view.Program = callOf(s) // so that it can be told from others when it arrives
	l.notifier.Report(event, view)
	if l.bug == callsTwice {
		view.NoticeID += " again"
		time.AfterFunc(5*time.Second, func() { l.notifier.Report(event, view) })
	}
}

// sync is the barrier before anything is sent. Now and then the disk is full.
func (l *life) sync(ctx context.Context, keys ...resume.Key) error {
	dice, alive := l.pass("sync %v", keys)
	if !alive {
		return errDead
	}
	l.mu.Lock()
	full := !l.calm && dice%20 == 0
	now := make(map[*claim]claim)
	for _, c := range l.claims {
		now[c] = *c
	}
	l.mu.Unlock()
	if full {
		return errors.New("no space left on device")
	}
	if l.bug != acceptsBeforeDisk {
		if err := l.store.Sync(ctx, keys...); err != nil {
			return err
		}
	}
	if dice%8 == 1 { // each time would take too long
		l.readClaims()
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, was := range now {
		c.onDisk, c.toldIt = true, c.toldIt || was.handed
	}
	return nil
}

// readClaims notes which claims the disk has: that Sync returned is no proof.
func (l *life) readClaims() {
	snapshot, err := l.store.Load()
	require.NoError(l.t, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range snapshot.Sessions {
		if s.Run == nil {
			continue
		}
		if c := l.claims[s.Run.Mark]; c != nil {
			c.onDisk, c.toldIt = true, c.toldIt || s.Run.Unverifiable
		}
	}
}

// read reads what is new in all transcripts, as it is told by the file system.
func (l *life) read() { _ = l.look(l.core.ctx, l.places...) }

func (l *life) look(ctx context.Context, places ...*place) error {
	l.mu.Lock()
	var news []resume.Observation
	upTo := make(map[*place]int)
	for _, p := range places {
		for i := l.seen[p.key]; i < len(p.transcript); i++ {
			ev := p.transcript[i]
			if limited, ok := ev.(resume.Limited); ok && l.bug == ignoresResets {
				limited.Reset = limit.Reset{}
				ev = limited
			}
			news = append(news, resume.Observation{
				Key: p.key, Account: "bot:default", Provider: p.provider, Cwd: "/made-up/" + p.key.ID, Transcript: p.path(),
				Pos: resume.Position{Epoch: "1", Offset: int64(i + 1)}, Event: ev,
			})
		}
		upTo[p] = len(p.transcript)
	}
	l.mu.Unlock()
	if err := l.engine.Observe(ctx, news); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range places {
		if upTo[p] > l.seen[p.key] {
			l.seen[p.key] = upTo[p]
			l.store.PutCursor(p.path(), json.RawMessage(fmt.Sprint(upTo[p])))
		}
	}
	return nil
}

func (w *world) isCalm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}
