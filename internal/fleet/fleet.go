package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"resumed/internal/resume"
	"resumed/internal/wake"
)

// Options configure a Fleet. Only those with a default may be left out.
type Options struct {
	Store Store
	Host  string // the unique name of this host
	Life  string // a unique name of this daemon process

	Rules   func() Rules
	Account func(resume.Session) string // key of its account in Accounts; empty: it is not shared, or not known yet. It must not block
	Waiting func() int                  // interrupted sessions of this host
	Shows   func() map[string]int       // how many sessions of each account this host shows to the others
	Version string

	Heartbeat time.Duration // how often this host renews its lease; default: Heartbeat

	Stir      func(context.Context)               // makes the engine ask again
	Deliver   func(context.Context, Notice) error // reports to people, if this host is the notifier; it returns once that is done
	Tells     func() bool                         // whether this host can report to people at all
	Changed   func(Status)                        // the state of this host in the fleet has changed
	HostGone  func(Host) (id string, data []byte) // the notice of a host that is gone while sessions wait there
	TellsGone func() bool                         // whether this host can report that one is gone
	Same      func(Notice, []byte) bool           // whether a notice of another host tells people what a notice of this host would
	Metrics   Metrics

	Now  func() time.Time // default: time.Now
	Rand func() float64   // in [0, 1)
}

// Metrics counts what happens in a fleet.
type Metrics interface {
	Wrote(result string)   // how a write ended
	Probed(outcome string) // how a probe ended
	Dropped(reason string) // why a notice was dropped
}

// Fleet is this host as a member of the fleet. Ask, Changed and Standing do not block.
type Fleet struct {
	opts Options
	pace pace
	kick wake.Signal // makes Run call tick soon

	mu       sync.Mutex // guards everything that follows; tick may read clock, hosts and missing, which it alone changes
	accounts map[string]*account
	clock    clock
	hosts    map[string]Host // those last seen, with this one
	missing  map[string]Host // those that vanished, with sessions that wait or are still shown
	answered time.Time       // when the store last answered a write
	failing  bool            // it has not answered since
	reported Status          // as last reported
	lifted   bool            // a limit is over earlier than the sessions expect
	holds    map[*Hold]struct{}
	asking   map[string]int       // how many callers of Hold wait for each session
	owed     map[string]time.Time // sessions whose owner record may have to be deleted, since a write got no answer
	probes   int                  // how many probes this daemon has asked for

	// Owned by tick.
	host             lease
	notifier         lease
	nextBeat         time.Time // when the leases are renewed next
	nextLook         time.Time // when it is checked whether a host is gone, before that
	stopNotices      func()    // ends the loop that reports notices; nil: another host does that
	started          time.Time
	oldOwnersDeleted bool
}

// Status is the state of a host in its fleet.
type Status struct {
	Alone bool
	Why   string // why it is alone
	Since time.Time
	Hosts int // hosts last seen, with this one
	Skew  time.Duration
}

// New returns a host that has not asked for anything yet.
func New(opts Options) *Fleet {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	pace := pace{cmp.Or(opts.Heartbeat, Heartbeat)}
	f := &Fleet{
		opts: opts, pace: pace, kick: wake.NewSignal(), accounts: make(map[string]*account),
		hosts: make(map[string]Host), missing: make(map[string]Host), holds: make(map[*Hold]struct{}),
		asking: make(map[string]int), owed: make(map[string]time.Time),
		host: lease{key: HostKey(opts.Host), lasts: pace.lease()}, notifier: lease{key: NotifierKey, lasts: pace.lease()},
	}
	f.answered, f.started = f.now(), f.now()
	f.reported = Status{Since: f.now(), Hosts: 1}
	return f
}

// now returns the time without its monotonic reading, which does not advance while the
// machine sleeps.
func (f *Fleet) now() time.Time { return f.opts.Now().Round(0) }

// Run takes part in the fleet until ctx is done, and then leaves it.
func (f *Fleet) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		watch, stop := context.WithCancel(ctx)
		changes, _ := f.opts.Store.Watch(watch) // nil if that fails: whatever matters is read from the store anyway
		for watching := true; watching; {
			select {
			case <-ctx.Done():
				stop()
				f.stop(context.WithoutCancel(ctx))
				return nil
			case e, ok := <-changes:
				if watching = ok; ok {
					f.accountChanged(e)
				}
			case <-f.kick:
			case <-timer.C:
				watching = changes != nil // else try again to watch
			}
			timer.Reset(max(0, f.tick(ctx).Sub(f.now())))
		}
		stop()
	}
}

// tick does all that is due and returns when to call it again. Only one goroutine calls it.
func (f *Fleet) tick(ctx context.Context) time.Time {
	defer f.reportStanding(ctx)
	if now := f.now(); !now.Before(f.nextBeat) || f.nextBeat.Sub(now) > f.patience() {
		if err := f.heartbeat(ctx); err != nil {
			f.nextBeat = f.now().Add(f.pace.again())
			return f.nextBeat
		}
		f.nextBeat = f.now().Add(f.host.lasts / renewals)
		f.readLimited(ctx)
	}
	if now := f.now(); !f.nextLook.IsZero() && !now.Before(f.nextLook) {
		_ = f.lookForHosts(ctx) // each heartbeat looks again
	}
	f.mu.Lock()
	lifted := f.lifted
	f.lifted = false
	f.mu.Unlock()
	if lifted {
		f.opts.Stir(ctx)
	}
	next := f.nextBeat
	if !f.nextLook.IsZero() && f.nextLook.Before(next) {
		next = f.nextLook
	}
	if at := f.renewHolds(ctx); !at.IsZero() && at.Before(next) {
		next = at
	}
	if !f.clock.measured || f.Standing().Alone {
		return next
	}
	if at := f.payOwed(ctx); !at.IsZero() && at.Before(next) {
		next = at
	}
	for _, id := range f.pending() {
		if at := f.process(ctx, id); !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

func (f *Fleet) heartbeat(ctx context.Context) error {
	if err := f.measure(ctx); err != nil {
		return err
	}
	f.host.lasts = renewals * f.interval()
	if err := f.acquire(ctx, &f.host, f.self()); err != nil {
		return err
	}
	if f.listsHosts() {
		if err := f.lookForHosts(ctx); err != nil {
			return err
		}
	}
	f.deleteOldOwners(ctx)
	f.runNotifier(ctx)
	return nil
}

// stop writes that this host stops on purpose, and releases its leases.
func (f *Fleet) stop(ctx context.Context) {
	f.endNotices()
	bye := f.self()
	bye.Bye = true
	_ = f.acquire(ctx, &f.host, bye) // otherwise it counts as missing
	f.releaseLease(ctx, &f.notifier)
	for _, id := range f.pending() {
		f.releaseProbe(ctx, id)
	}
}

// noteAnswer stores whether the store has answered. Only the answer to a write ends its silence:
// servers that are cut off from the others still answer reads.
func (f *Fleet) noteAnswer(write bool, err error) {
	answered := err == nil || errors.Is(err, ErrConflict) || errors.Is(err, ErrMissing)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case answered && write:
		f.failing, f.answered = false, f.now()
	case !answered && !f.failing: // with many hosts, writes are rare: the silence begins with the first question
		f.failing, f.answered = true, resume.Later(f.answered, f.now().Add(-f.pace.heartbeat-AnswerWithin))
	}
}

// Standing returns the state of this host in the fleet.
func (f *Fleet) Standing() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.standing(f.now())
}

func (f *Fleet) standing(now time.Time) Status {
	s := Status{Hosts: max(1, len(f.hosts)), Skew: f.clock.offset, Since: f.reported.Since}
	switch {
	case f.failing && now.Sub(f.answered) >= f.pace.silence():
		s.Alone, s.Why = true, "the fleet does not answer"
	case f.clock.skewed():
		s.Alone, s.Why = true, "the clock of this host is too far off"
	}
	if s.Alone != f.reported.Alone {
		s.Since = now
	}
	return s
}

func (f *Fleet) reportStanding(ctx context.Context) {
	f.mu.Lock()
	before := f.reported
	f.reported = f.standing(f.now())
	now := f.reported
	f.mu.Unlock()
	if now.Alone == before.Alone {
		return
	}
	f.opts.Changed(now)
	f.opts.Stir(ctx)
}

func (f *Fleet) get(ctx context.Context, b Bucket, key string) (Entry, error) {
	e, err := f.opts.Store.Get(ctx, b, key)
	f.noteAnswer(false, err)
	return e, err
}

func (f *Fleet) list(ctx context.Context, b Bucket, prefix string) ([]Entry, error) {
	all, err := f.opts.Store.List(ctx, b, prefix)
	f.noteAnswer(false, err)
	return all, err
}

func (f *Fleet) put(ctx context.Context, b Bucket, key string, value any, rev uint64, lasts time.Duration) (uint64, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	next, err := f.opts.Store.Update(ctx, b, key, data, rev, lasts)
	f.wrote(err)
	return next, err
}

func (f *Fleet) remove(ctx context.Context, b Bucket, key string, rev uint64) error {
	err := f.opts.Store.Delete(ctx, b, key, rev)
	f.wrote(err)
	return err
}

func (f *Fleet) wrote(err error) {
	f.noteAnswer(true, err)
	result := "won"
	switch {
	case errors.Is(err, ErrConflict):
		result = "lost"
	case err != nil:
		result = "silent"
	}
	f.opts.Metrics.Wrote(result)
}
