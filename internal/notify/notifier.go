package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/resume/view"
)

// Config is what of a Notifier may change while it runs.
type Config struct {
	Channels  []Channel
	Events    []Event       // told to channels that name none of their own; nil: DefaultEvents, empty: nothing
	GroupWait time.Duration // how long notices of one account, event and cause are gathered; 0: not at all
}

// check says what is wrong with a configuration.
func (c Config) check() error {
	seen := make(map[string]bool)
	for _, ch := range c.Channels {
		if ch.Name() == "" {
			return errors.New("a channel has no name")
		}
		if seen[ch.Name()] {
			return fmt.Errorf("two channels are named %q", ch.Name())
		}
		seen[ch.Name()] = true
	}
	return nil
}

// wanting returns the names of the channels that want an event.
func (c Config) wanting(event Event) []string {
	var names []string
	for _, ch := range c.Channels {
		events := c.Events
		if own := ch.Events(); len(own) > 0 {
			events = own
		}
		if events == nil {
			events = DefaultEvents()
		}
		// Whoever is called when nothing goes on without a person is told that, too.
		if slices.Contains(events, event) || (event == StateError || event == HostGone) && slices.Contains(events, Parked) {
			names = append(names, ch.Name())
		}
	}
	return names
}

// Options are what a Notifier is made of. Store and Log are required.
type Options struct {
	Config
	Store  Store
	Log    *slog.Logger
	Host   string         // what this machine is called in notices
	Zone   *time.Location // of the times in texts; nil: local
	Agents Titles
	Rand   func() float64 // in [0, 1); nil: a fair dice

	// Now is the clock on the wall, which people set; nil: the machine's.
	Now func() time.Time

	// Share hands in a notice of an account that several hosts share, to be told once
	// by one of them. It reports whether that is done; nil: there are no others.
	Share func(context.Context, Notice) bool

	// Count is called at each end of a delivery, for metrics; may be nil.
	Count func(channel string, outcome Outcome)

	// Changed is called whenever Figures are others, and must not block; may be nil.
	Changed func()
}

// Notifier gathers what happens into notices and delivers them.
type Notifier struct {
	opts  Options
	log   *slog.Logger
	nudge chan struct{} // of size 1: something was told, or the configuration changed

	mu        sync.Mutex // guards everything that follows
	config    Config
	gathering *gathering
	senders   map[string]*sender // by channel name; nil before Run
	tookUp    bool               // what was in the outbox at the start is with the senders
	declined  time.Time          // when it was last given a notice that no channel wants
	handed    map[string]bool    // the notices of others, and of earlier processes, that are, too

	// active is the configuration that senders were arranged for. Owned by Run.
	active Config
}

// New reads what an earlier process has gathered. It starts nothing.
func New(opts Options) (*Notifier, error) {
	if opts.Store == nil || opts.Log == nil {
		return nil, errors.New("notifier needs a store and a logger")
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	if opts.Rand == nil {
		opts.Rand = rand.Float64
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Zone == nil {
		opts.Zone = time.Local
	}
	if opts.Changed == nil {
		opts.Changed = func() {}
	}
	if opts.Count == nil {
		opts.Count = func(string, Outcome) {}
	}
	n := &Notifier{
		opts:      opts,
		log:       opts.Log,
		nudge:     make(chan struct{}, 1),
		config:    opts.Config,
		gathering: &gathering{marks: make(map[string]mark)},
	}
	n.remember()
	return n, nil
}

// remember reads what an earlier process has told. Where that is damaged people may be
// called again for what they know, which is better than that nobody is called.
func (n *Notifier) remember() {
	data, found := n.opts.Store.Value(marksKey)
	if !found {
		return
	}
	told, err := decodeMarks(data, n.log)
	if err != nil {
		n.log.Error("what was told cannot be read and begins anew", "err", err)
		n.TellStateError(fmt.Sprintf("%v: it begins anew, and you may be told again what you know already", err))
		return
	}
	n.gathering = told
}

// Tell says that something happened to a session: call it on each edge, after
// or before the session is stored. short is what a person types for it, an
// unambiguous beginning of its id. It returns at once.
//
// To lose nothing in a crash, tell every session that is given up or parked
// again after a start: what an earlier process has told is passed over once.
func (n *Notifier) Tell(event Event, session view.Session, short string) {
	if short == "" {
		short = session.ID
	}
	n.mu.Lock()
	wanted := len(n.config.wanting(event)) > 0
	if wanted || event == GaveUp || event == Parked {
		wait := n.config.GroupWait
		if event == Limited {
			wait = max(wait, lookTime)
		}
		n.gathering.hear(n.now(), wait, wanted, event, member{View: trimView(session), Short: short})
	}
	n.mu.Unlock()
	n.wake()
}

// lookTime is how long a session that was just stopped is looked at until it is
// known how it goes on: nobody is told before.
const lookTime = 3 * time.Second

// Amend says what is newly known of a session in a notice that is still being
// gathered. It returns at once.
func (n *Notifier) Amend(event Event, session view.Session, short string) {
	n.mu.Lock()
	n.gathering.amend(n.now(), event, member{View: trimView(session), Short: short})
	n.mu.Unlock()
}

// TellConfigError says that a changed configuration was refused, and why.
func (n *Notifier) TellConfigError(why string) {
	n.mu.Lock()
	if len(n.config.wanting(ConfigError)) > 0 {
		n.gathering.note(n.now(), n.config.GroupWait, ConfigError, why)
	}
	n.mu.Unlock()
	n.wake()
}

// now returns the time without its monotonic reading, which stands still while
// the machine sleeps.
func (n *Notifier) now() time.Time { return n.opts.Now().Round(0) }

// Swap puts another configuration in force. What waits for a channel that is
// gone is dropped; a channel of the same name takes over what waits.
func (n *Notifier) Swap(c Config) error {
	if err := c.check(); err != nil {
		return err
	}
	n.mu.Lock()
	n.config = c
	n.mu.Unlock()
	n.wake()
	return nil
}

func (n *Notifier) wake() {
	select {
	case n.nudge <- struct{}{}:
	default:
	}
}

// longestSleep bounds every wait: timers stand still while a machine sleeps,
// and deadlines are times of the wall clock.
const longestSleep = time.Minute

// breath is the least time between two turns, so that a burst is stored in few
// pieces.
const breath = 50 * time.Millisecond

// storePolicy is how often a store that refuses is asked again.
var storePolicy = backoff.Policy{Strategy: backoff.Exponential, BaseDelay: time.Second, MaxDelay: time.Minute}

// Run delivers until ctx is done. A delivery that is under way then may end,
// for a few seconds. Run may be called once.
func (n *Notifier) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	n.arrange(ctx, &running)
	n.takeUp(ctx)
	var failures int
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return n.stop(ctx)
		case <-n.nudge:
		case <-timer.C:
		}
		select { // what was told until now is part of this turn
		case <-n.nudge:
		default:
		}
		n.arrange(ctx, &running)
		wait := n.turn(ctx, &failures)
		select {
		case <-ctx.Done():
		case <-time.After(breath):
		}
		timer.Reset(wait - breath)
	}
}

// arrange makes the senders fit the configuration. Only Run changes the map, and
// it makes a new one: whoever reads the old one reads it in peace.
func (n *Notifier) arrange(ctx context.Context, running *sync.WaitGroup) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.active = n.config
	senders := make(map[string]*sender, len(n.active.Channels))
	for _, ch := range n.active.Channels {
		s := n.senders[ch.Name()]
		if s == nil {
			s = newSender(n, ch)
			running.Go(func() { s.run(ctx) })
		}
		s.use(ch)
		senders[ch.Name()] = s
	}
	for name, s := range n.senders {
		if senders[name] == nil {
			s.remove()
		}
	}
	n.senders = senders
}

// stop keeps what was gathered last.
func (n *Notifier) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := n.keep(ctx); err != nil {
		return fmt.Errorf("keep gathered notices: %w", err)
	}
	return nil
}

// turn moves on what is complete, and returns how long there is nothing to do.
// failures counts the turns that the store refused in a row.
func (n *Notifier) turn(ctx context.Context, failures *int) time.Duration {
	err := n.release(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		if *failures++; *failures == 1 {
			n.log.Error("notices cannot be stored and wait", "err", err)
		}
		return storePolicy.Delay(*failures, 0)
	case *failures > 0:
		n.log.Info("notices can be stored again")
		*failures = 0
	}
	return n.untilDue()
}

// untilDue returns how long there is nothing to do.
func (n *Notifier) untilDue() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	due, ok := n.gathering.due()
	if !ok {
		return longestSleep
	}
	return min(max(due.Sub(n.now()), 0), longestSleep)
}
