package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/wake"
)

// Config is the part of a Notifier that may change while it runs.
type Config struct {
	Channels  []*Channel    // each has a name of its own
	GroupWait time.Duration // how long notices of one account, event and cause are gathered; 0: not at all
}

func (c Config) wanting(event Event) []string {
	var names []string
	for _, ch := range c.Channels {
		// These need a person, like a parked session.
		alike := slices.Contains([]Event{CutOff, Silent, StateError, HostGone}, event)
		if slices.Contains(ch.Events, event) || alike && slices.Contains(ch.Events, Parked) {
			names = append(names, ch.Name)
		}
	}
	return names
}

// Options configure a Notifier. Store and Log are required.
type Options struct {
	Config
	Store  Store
	Log    *slog.Logger
	Host   string // the name of this machine in notices
	Agents Titles
	Rand   func() float64 // in [0, 1); nil: math/rand

	// Now is the wall clock, which people may set; nil: that of the machine.
	Now func() time.Time

	// Share publishes a notice of an account that several hosts share, so that one of them sends it. It
	// reports whether that succeeded; nil: there are no other hosts.
	Share func(context.Context, Notice) bool

	// Count is called when a delivery ends, for metrics; may be nil.
	Count func(channel string, outcome Outcome)

	// Changed is called when Figures have changed, and must not block; may be nil.
	Changed func()
}

// Notifier gathers events into notices and delivers them.
type Notifier struct {
	opts  Options
	log   *slog.Logger
	nudge wake.Signal // something was reported, or the configuration changed

	mu        sync.Mutex // guards everything that follows
	config    Config
	gathering gathering
	senders   map[string]*sender // by channel name
	declined  time.Time          // when a notice was last refused because no channel wants it
}

// New loads the marks of an earlier process. It starts nothing.
func New(opts Options) *Notifier {
	if opts.Rand == nil {
		opts.Rand = rand.Float64
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Changed == nil {
		opts.Changed = func() {}
	}
	if opts.Count == nil {
		opts.Count = func(string, Outcome) {}
	}
	n := &Notifier{
		opts: opts, log: opts.Log, nudge: wake.NewSignal(), config: opts.Config,
		gathering: gathering{marks: make(map[string]mark), held: make(map[string]bool)}, senders: make(map[string]*sender),
	}
	if data, found := opts.Store.Value(marksKey); found {
		n.load(data)
	}
	return n
}

// load takes over the marks of an earlier process. If they are damaged, people may be told something
// again, which is better than not at all.
func (n *Notifier) load(data []byte) {
	stored := storedMarks{Marks: n.gathering.marks}
	err := json.Unmarshal(data, &stored)
	if err == nil && stored.Version != marksVersion {
		err = fmt.Errorf("version %d is not known", stored.Version)
	}
	if err == nil {
		n.gathering.marks = stored.Marks
		return
	}
	n.gathering.marks = make(map[string]mark)
	n.log.Error("what was told cannot be read and begins anew", "err", err)
	n.TellStateError(fmt.Sprintf("read what was told: %v: it begins anew, and you may be told again what you know already", err))
}

// Report reports an event of a session: call it on each edge, before or after the session is stored. It
// returns at once.
//
// To lose nothing in a crash, report every session that is given up or parked again after a start: what
// an earlier process has reported is skipped once.
func (n *Notifier) Report(event Event, session view.Session) {
	n.mu.Lock()
	wanted := len(n.config.wanting(event)) > 0
	if wanted || needsPerson(event) {
		wait := n.config.GroupWait
		if event == Limited && wait > 0 {
			wait = max(wait, lookTime)
		}
		n.gathering.add(n.now(), wait, wanted, event, trimView(session))
	}
	n.mu.Unlock()
	n.nudge.Send()
}

// lookTime is how long the report of a stopped session is delayed at least, if notices are gathered: after that it is known how it
// continues.
const lookTime = 3 * time.Second

// Amend updates a session in a notice that is still being gathered. It returns at once.
func (n *Notifier) Amend(event Event, session view.Session) {
	n.mu.Lock()
	n.gathering.amend(n.now(), event, trimView(session))
	n.mu.Unlock()
}

// TellConfigError reports that a changed configuration was refused, and why.
func (n *Notifier) TellConfigError(why string) { n.tellDetail(ConfigError, why) }

// TellStateError reports once what is wrong with the state of an earlier daemon.
func (n *Notifier) TellStateError(why string) {
	const key = "daemon " + string(StateError)
	n.mu.Lock()
	known := n.gathering.marks[key].Edge == why
	if !known && len(n.config.wanting(StateError)) > 0 {
		n.gathering.marks[key] = mark{Edge: why, At: n.now().Unix(), fresh: true}
		n.gathering.dirty = true
	}
	n.mu.Unlock()
	if !known {
		n.tellDetail(StateError, why)
	}
}

// tellDetail reports an event without a session. Of several details the last one counts.
func (n *Notifier) tellDetail(event Event, detail string) {
	n.tellAs(event, resume.AccountKey{}, "", func(g *group) { g.detail = detail })
}

// tellAs fills in the notice of an event, if a channel wants it. A notice with its own cause is not
// gathered with others, and is sent at once.
func (n *Notifier) tellAs(event Event, account resume.AccountKey, cause string, fill func(*group)) {
	n.mu.Lock()
	if len(n.config.wanting(event)) > 0 {
		wait := n.config.GroupWait
		if cause != "" {
			wait = 0
		}
		fill(n.gathering.open(n.now(), wait, event, account, cause))
	}
	n.mu.Unlock()
	n.nudge.Send()
}

// now returns the time without its monotonic reading, which does not advance while the machine
// sleeps.
func (n *Notifier) now() time.Time { return n.opts.Now().Round(0) }

// Swap replaces the configuration. Deliveries for a channel that was removed are dropped; a channel of
// the same name takes over its deliveries.
func (n *Notifier) Swap(c Config) {
	n.mu.Lock()
	n.config = c
	n.mu.Unlock()
	n.nudge.Send()
}

const (
	// longestSleep bounds every wait: timers do not advance while a machine sleeps, and deadlines are
	// times of the wall clock.
	longestSleep = time.Minute

	// batchDelay is the shortest time between two turns, so that a burst is stored in few writes.
	batchDelay = 50 * time.Millisecond
)

var storePolicy = backoff.Policy{Strategy: backoff.Exponential, BaseDelay: time.Second, MaxDelay: time.Minute}

// Run delivers until ctx is done. A delivery in progress may then continue for a few seconds. Run may
// be called once.
func (n *Notifier) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	failures := 0
	for wait := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return n.stop(ctx)
		case <-n.nudge:
		case <-time.After(wait):
		}
		n.arrange(ctx, &running)
		wait = n.turn(ctx, &failures) - batchDelay
		wake.Sleep(ctx, batchDelay)
	}
}

// arrange starts a sender for each channel, and stops those of channels that were removed. A sender that
// stops is in the map until its last try is over.
func (n *Notifier) arrange(ctx context.Context, running *sync.WaitGroup) {
	n.mu.Lock()
	defer n.mu.Unlock()
	channels := make(map[string]*Channel)
	for _, ch := range n.config.Channels {
		channels[ch.Name] = ch
		if n.senders[ch.Name] == nil {
			s := newSender(n, ch)
			n.senders[ch.Name] = s
			running.Go(func() { s.run(ctx) })
		}
	}
	for name, s := range n.senders {
		if s.channel != channels[name] {
			s.channel = channels[name]
			s.kick.Send()
		}
	}
}

func (n *Notifier) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := n.store(ctx); err != nil {
		return fmt.Errorf("store gathered notices: %w", err)
	}
	return nil
}

// turn passes complete notices to the senders, and returns how long there is nothing to do. failures
// counts the turns in a row in which the store failed.
func (n *Notifier) turn(ctx context.Context, failures *int) time.Duration {
	if err := n.release(ctx); err != nil && ctx.Err() == nil {
		if *failures++; *failures == 1 {
			n.log.Error("notices cannot be stored and wait", "err", err)
		}
		return storePolicy.Delay(*failures, 0)
	}
	if *failures > 0 {
		n.log.Info("notices can be stored again")
		*failures = 0
	}
	n.dropOrphans(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gathering.untilDue(n.now())
}
