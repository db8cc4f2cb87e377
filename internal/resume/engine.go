package resume

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// longestSleep bounds how long the engine sleeps: timers stand still while a
// laptop is suspended, so a reset that passed meanwhile is noticed this late
// at most.
const longestSleep = time.Minute

// remembered is how long a session that recovered stays in the list.
const remembered = 24 * time.Hour

// ErrNoSession is returned for a session that nobody knows.
var ErrNoSession = errors.New("no such session")

// Change is one step of one session.
type Change struct {
	At            time.Time
	Event         Event
	Before, After Session
	Dropped       bool // After is not kept any longer
}

// Entered reports whether this step led into state.
func (c Change) Entered(state State) bool {
	return c.After.State == state && c.Before.State != state
}

// Begun returns the resume that this step began, or nil.
func (c Change) Begun() *Run {
	if run := c.After.Run; run != nil && (c.Before.Run == nil || c.Before.Run.Mark != run.Mark) {
		return run
	}
	return nil
}

// Options are what an Engine works with. All functions are required.
type Options struct {
	Rules    Rules
	Sessions []Session // as they were when the engine last stopped
	Paused   bool      // nothing is started until SetPaused(false)

	// Act sends the resume that session.Run names and reports on it through
	// Tell. It runs in a goroutine of its own and must return soon after ctx
	// is done.
	Act func(ctx context.Context, session Session)

	// Changed is told every step, in order. It must not block and must not
	// call the engine.
	Changed func(Change)

	Rand func() float64 // in [0, 1)
	Mark func() string  // a name that no other resume has
}

// Engine owns all sessions and applies events to them in one order.
type Engine struct {
	opts   Options
	orders chan func(context.Context)
	acting sync.WaitGroup

	// Owned by Run.
	sessions map[Key]Session
	timers   timers
	accounts map[string]*account
	ready    map[Key]struct{} // due, but held back
	wake     time.Time        // when one of them may start; zero: unknown
	stirred  bool             // something changed that may let one of them start
	running  int              // sessions with a Run
	pruned   time.Time
}

// NewEngine returns an engine that knows the given sessions. Run starts it.
func NewEngine(opts Options) *Engine {
	e := &Engine{
		opts:     opts,
		orders:   make(chan func(context.Context)),
		sessions: make(map[Key]Session, len(opts.Sessions)),
		timers:   newTimers(),
		accounts: make(map[string]*account),
		ready:    make(map[Key]struct{}),
	}
	for _, s := range opts.Sessions {
		e.keep(s)
		if s.State == Waiting && shared(s.Limit.Class) {
			e.account(s.Account).open(s)
		}
	}
	return e
}

// Run applies events until ctx is done, then waits for the actions to return.
// One goroutine owns all sessions: nothing is locked, all events have one
// order.
func (e *Engine) Run(ctx context.Context) error {
	defer e.acting.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case order := <-e.orders:
			order(ctx)
		case <-timer.C:
		}
		e.ring(ctx)
		timer.Reset(e.sleep())
	}
}

// do runs f in the engine's goroutine and returns when it has run.
func (e *Engine) do(ctx context.Context, f func(context.Context)) error {
	done := make(chan struct{})
	order := func(ctx context.Context) { f(ctx); close(done) }
	select {
	case e.orders <- order:
		<-done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// See applies what was read from an agent's files, in order.
func (e *Engine) See(ctx context.Context, sightings []Sighting) error {
	if len(sightings) == 0 {
		return nil
	}
	return e.do(ctx, func(ctx context.Context) {
		for _, sight := range sightings {
			e.see(ctx, sight)
		}
	})
}

func (e *Engine) see(ctx context.Context, sight Sighting) {
	s, known := e.sessions[sight.Key]
	if known && s.Seen.Epoch == sight.Pos.Epoch && sight.Pos.Offset <= s.Seen.Offset {
		return
	}
	before := s
	if !known {
		s.BornAt = born(sight.Event)
	}
	s.Key, s.Seen = sight.Key, sight.Pos
	s.Account = cmp.Or(sight.Account, s.Account)
	s.Cwd = cmp.Or(sight.Cwd, s.Cwd)
	s.Transcript = cmp.Or(sight.Transcript, s.Transcript)
	e.apply(ctx, before, s, sight.Event, wallNow())
}

// Tell applies an event to a known session and returns what became of it.
func (e *Engine) Tell(ctx context.Context, key Key, ev Event) (Session, error) {
	var after Session
	known := false
	err := e.do(ctx, func(ctx context.Context) {
		var s Session
		if s, known = e.sessions[key]; known {
			after = e.apply(ctx, s, s, ev, wallNow())
		}
	})
	if err == nil && !known {
		err = ErrNoSession
	}
	return after, err
}

// Session returns one session.
func (e *Engine) Session(ctx context.Context, key Key) (Session, error) {
	var s Session
	known := false
	err := e.do(ctx, func(context.Context) { s, known = e.sessions[key] })
	if err == nil && !known {
		err = ErrNoSession
	}
	return s, err
}

// Sessions returns all sessions, in no particular order.
func (e *Engine) Sessions(ctx context.Context) ([]Session, error) {
	var all []Session
	err := e.do(ctx, func(context.Context) {
		all = make([]Session, 0, len(e.sessions))
		for _, s := range e.sessions {
			all = append(all, s)
		}
	})
	return all, err
}

// Accounts returns how the accounts stand, in no particular order.
func (e *Engine) Accounts(ctx context.Context) ([]Account, error) {
	var all []Account
	err := e.do(ctx, func(context.Context) {
		count := make(map[string]int, len(e.accounts))
		for _, s := range e.sessions {
			count[s.Account]++
		}
		for name, a := range e.accounts {
			all = append(all, Account{Name: name, State: a.state(), ResetAt: a.reset, Sessions: count[name]})
		}
	})
	return all, err
}

// Ping returns when the engine's loop has turned.
func (e *Engine) Ping(ctx context.Context) error {
	return e.do(ctx, func(context.Context) {})
}

// SetRules changes the rules and computes every wait anew.
func (e *Engine) SetRules(ctx context.Context, rules Rules) error {
	return e.do(ctx, func(ctx context.Context) {
		e.opts.Rules, e.stirred = rules, true
		for _, key := range e.keys() {
			s := e.sessions[key]
			e.apply(ctx, s, s, Reconsider{}, wallNow())
		}
	})
}

// SetPaused keeps anything from being started, or lets what came due start.
func (e *Engine) SetPaused(ctx context.Context, paused bool) error {
	return e.do(ctx, func(context.Context) { e.opts.Paused, e.stirred = paused, true })
}

func (e *Engine) keys() []Key {
	keys := make([]Key, 0, len(e.sessions))
	for key := range e.sessions {
		keys = append(keys, key)
	}
	return keys
}

// apply takes one step. before is what the world knows of the session; s is
// before with what the event brought along.
func (e *Engine) apply(ctx context.Context, before, s Session, ev Event, now time.Time) Session {
	after := s.Next(ev, e.opts.Rules, now, e.opts.Rand())
	e.keep(after)
	change := Change{At: now, Event: ev, Before: before, After: after}
	if e.account(after.Account).follow(change) || before.State != after.State || before.Run != after.Run {
		e.stirred = true
	}
	e.opts.Changed(change)
	e.postpone(ctx, change)
	if change.Begun() != nil {
		e.acting.Go(func() { e.opts.Act(ctx, after) })
	}
	return after
}

// keep stores the session and sets its timer.
func (e *Engine) keep(s Session) {
	if e.sessions[s.Key].Run != nil {
		e.running--
	}
	if s.Run != nil {
		e.running++
	}
	e.sessions[s.Key] = s
	delete(e.ready, s.Key)
	e.timers.set(s.Key, s.deadline())
}

// ring lets every wait end that is over.
func (e *Engine) ring(ctx context.Context) {
	now := wallNow()
	for {
		key, at, ok := e.timers.next()
		if !ok || at.After(now) {
			break
		}
		if s := e.sessions[key]; s.State == Settling {
			e.apply(ctx, s, s, Due{}, now)
			continue
		}
		e.timers.set(key, time.Time{})
		e.ready[key] = struct{}{}
		e.stirred = true
	}
	if e.stirred || (!e.wake.IsZero() && !e.wake.After(now)) {
		e.stirred = false
		e.start(ctx, now)
	}
	e.prune(now)
}

// postpone lets the sessions that wait for the same reset wait on.
func (e *Engine) postpone(ctx context.Context, c Change) {
	if !c.movesReset() {
		return
	}
	for _, key := range e.keys() {
		if s := e.sessions[key]; c.postpones(s) {
			e.apply(ctx, s, s, Postponed{Reset: c.After.Limit.Reset, By: c.After.Key}, c.At)
		}
	}
}

// account returns what is known of the account of that name.
func (e *Engine) account(name string) *account {
	a := e.accounts[name]
	if a == nil {
		a = &account{}
		e.accounts[name] = a
	}
	return a
}

// start begins the resumes that are due, as far as anything allows.
func (e *Engine) start(ctx context.Context, now time.Time) {
	e.wake = time.Time{}
	for _, key := range e.inOrder() {
		s := e.sessions[key]
		why, until := e.heldBack(s, now)
		if why == "" {
			e.begin(ctx, s, now)
			continue
		}
		if !until.IsZero() && (e.wake.IsZero() || until.Before(e.wake)) {
			e.wake = until
		}
		if s.Reason != why {
			e.apply(ctx, s, s, Queued{Why: why}, now)
			e.timers.set(key, time.Time{})
			e.ready[key] = struct{}{}
		}
	}
}

// begin resumes a session, unless a person has gone on in its directory.
func (e *Engine) begin(ctx context.Context, s Session, now time.Time) {
	if other, ok := e.successor(s); ok {
		e.apply(ctx, s, s, Superseded{By: other}, now)
		return
	}
	e.apply(ctx, s, s, Due{Mark: e.opts.Mark()}, now)
}

// heldBack says why a session that is due may not start now, and when that may
// be another matter; zero: some other change will tell.
func (e *Engine) heldBack(s Session, now time.Time) (why string, until time.Time) {
	rules := e.opts.Rules
	if e.opts.Paused {
		return "due, but resumed is paused", time.Time{}
	}
	if rules.Open != nil {
		if at := rules.Open(now); at.After(now) {
			return "due, but outside of resume.hours", at
		}
	}
	if why, until := e.account(s.Account).gate(s.Key, rules, now); why != "" {
		return why, until
	}
	if e.running >= max(1, rules.MaxConcurrent) {
		return "due, but as many resumes run as resume.max_concurrent allows", time.Time{}
	}
	return "", time.Time{}
}

// successor returns the session by which a person went on in the same
// directory after this one was stopped.
func (e *Engine) successor(s Session) (Key, bool) {
	if s.Cwd == "" || !s.Asked.IsZero() {
		return Key{}, false
	}
	for key, other := range e.sessions {
		if key != s.Key && key.Agent == s.Key.Agent && other.Cwd == s.Cwd &&
			other.BornAt.After(s.LimitedAt) && !other.MovedAt.IsZero() {
			return key, true
		}
	}
	return Key{}, false
}

// inOrder returns who is ready, first to go first.
func (e *Engine) inOrder() []Key {
	keys := make([]Key, 0, len(e.ready))
	for key := range e.ready {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b Key) int {
		sa, sb := e.sessions[a], e.sessions[b]
		order := sa.LimitedAt.Compare(sb.LimitedAt)
		if e.opts.Rules.Order == Newest {
			order = -order
		}
		return cmp.Or(order, cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.ID, b.ID))
	})
	return keys
}

// prune forgets, once an hour, the interruptions that ended long ago.
func (e *Engine) prune(now time.Time) {
	if now.Sub(e.pruned) < time.Hour {
		return
	}
	e.pruned = now
	for key, s := range e.sessions {
		over := s.State == Watching && s.Run == nil && !s.Paused && !s.LimitedAt.IsZero()
		if over && now.Sub(later(s.RecoveredAt, s.LimitedAt)) > remembered {
			delete(e.sessions, key)
			e.opts.Changed(Change{At: now, Before: s, After: s, Dropped: true})
		}
	}
}

func (e *Engine) sleep() time.Duration {
	_, at, ok := e.timers.next()
	if !ok || (!e.wake.IsZero() && e.wake.Before(at)) {
		at, ok = e.wake, !e.wake.IsZero()
	}
	if !ok {
		return longestSleep
	}
	return min(longestSleep, max(0, at.Sub(wallNow())))
}

// wallNow returns the time without its monotonic reading, which stands still
// while the machine sleeps.
func wallNow() time.Time { return time.Now().Round(0) }
