// Package engine owns the sessions: one goroutine applies events to them in one order, has their timers
// and accounts, and starts what is due. The rules are in package resume.
package engine

import (
	"cmp"
	"context"
	"sync"
	"time"

	"resumed/internal/resume"
)

// longestSleep bounds how long the engine sleeps: timers stop while a laptop is suspended, so a reset
// that passed meanwhile is noticed this late at most.
const longestSleep = time.Minute

// Options configure an Engine. All functions but StorePaused and Gate are required.
type Options struct {
	Rules    resume.Rules
	Sessions []resume.Session // as stored when the engine last stopped
	Paused   bool             // no resume is started until SetPaused(false)
	AliveAt  time.Time        // when a daemon last ran, as far as is known

	// Act sends the resume in session.Run and reports on it through Apply. It runs in a goroutine of
	// its own and must return soon after ctx is done.
	Act func(ctx context.Context, session resume.Session)

	// Changed is called with every step, in order. It must not block and must not call the engine.
	Changed func(resume.Change)

	// StorePaused is called with each order to pause or unpause everything. It must not block.
	StorePaused func(paused bool)

	Gate Gate           // is called last before a start; nil: none
	Rand func() float64 // in [0, 1)
	Mark func() string  // returns a unique name for a resume
}

// Engine owns all sessions and applies events to them in one order.
type Engine struct {
	opts   Options
	orders chan func(context.Context)
	acting sync.WaitGroup

	// Owned by Run.
	book     book
	timers   timers
	accounts map[resume.AccountKey]*account
	ready    queue                   // due, but held back
	wake     time.Time               // when one of ready may start; zero: not known
	recheck  bool                    // something changed that may let one of ready start
	running  int                     // sessions with a Run
	tasks    map[resume.Key]struct{} // tasks that wait, or began not long ago
	numbers  resume.TaskNumbers
	forgot   time.Time // when forget last ran
	latest   time.Time // the latest known time of the clock
	turned   time.Time // when the loop last ran, with its monotonic reading
}

// New returns an engine that knows the given sessions. Run starts it.
func New(opts Options) *Engine {
	e := &Engine{
		opts:     opts,
		orders:   make(chan func(context.Context)),
		book:     newBook(),
		timers:   timers{newIndex(instant.compare)},
		ready:    queue{newIndex(queued.compare)},
		accounts: make(map[resume.AccountKey]*account),
		tasks:    make(map[resume.Key]struct{}),
	}
	for _, s := range opts.Sessions {
		if s = s.Restore(); s.State == resume.Settling {
			s.WaitFrom = wallNow() // its transcript since then is not read yet
		}
		e.keep(s)
		e.latest = resume.Later(e.latest, s.Latest())
	}
	e.latest = resume.Later(e.latest, opts.AliveAt)
	e.restoreAccounts(opts.Sessions)
	return e
}

// Run applies events until ctx is done, then waits for the actions to return. One goroutine owns all
// sessions, so nothing is locked and all events have one order.
func (e *Engine) Run(ctx context.Context) error {
	defer e.acting.Wait()
	e.watchClock(ctx)
	e.reconsider(ctx) // the rules may have changed since these waits were stored
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case order := <-e.orders:
			e.watchClock(ctx)
			order(ctx)
		case <-timer.C:
			e.watchClock(ctx)
		}
		e.handleDue(ctx)
		timer.Reset(e.sleep())
	}
}

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

func ask[T any](ctx context.Context, e *Engine, f func(context.Context) (T, error)) (answer T, err error) {
	if stopped := e.do(ctx, func(ctx context.Context) { answer, err = f(ctx) }); stopped != nil {
		return answer, stopped
	}
	return answer, err
}

func (e *Engine) known(key resume.Key) (resume.Session, error) {
	s, known := e.book.get(key)
	if !known {
		return s, resume.ErrNoSession
	}
	return s, nil
}

// Observe applies what was read from an agent's files, in order.
func (e *Engine) Observe(ctx context.Context, observations []resume.Observation) error {
	if len(observations) == 0 {
		return nil
	}
	return e.do(ctx, func(ctx context.Context) {
		for _, seen := range observations {
			e.observe(ctx, seen)
		}
	})
}

func (e *Engine) observe(ctx context.Context, seen resume.Observation) {
	seen = seen.Bounded()
	if ev, ok := seen.Event.(resume.Renamed); ok {
		from := func(s *resume.Session) bool { return s.Key.Agent == seen.Key.Agent && s.Transcript == ev.From }
		for s := range e.book.where(from) {
			e.relocate(ctx, s, ev, seen.Transcript)
		}
		return
	}
	s, known := e.book.get(seen.Key)
	if ev, ok := seen.Event.(resume.SubagentEnded); ok {
		if known { // its record may be in another file: the session's own position stays
			e.apply(ctx, s, s, ev, wallNow())
		}
		return
	}
	if known && s.Seen.Epoch == seen.Pos.Epoch && seen.Pos.Offset <= s.Seen.Offset {
		e.relocate(ctx, s, resume.Renamed{From: s.Transcript}, seen.Transcript) // renamed while no daemon ran
		return
	}
	if known && s.IsNewerThan(seen) {
		return
	}
	before := s
	if !known {
		s.FoundAt = wallNow()
		s.BornAt = resume.Earlier(seen.Born(), s.FoundAt)
	}
	s.Key, s.Seen = seen.Key, seen.Pos
	s.Account = cmp.Or(seen.Account, s.Account)
	s.Provider = cmp.Or(seen.Provider, s.Provider)
	s.Cwd = cmp.Or(seen.Cwd, s.Cwd)
	s.Transcript = cmp.Or(seen.Transcript, s.Transcript)
	s = s.WithKind(seen.Kind)
	if seen.App != "" || seen.Kind == resume.Interactive { // a resume does not change it
		s.App = seen.App
	}
	if _, stopped := seen.Event.(resume.Limited); stopped {
		s.CwdBorn = seen.CwdBorn
	}
	e.apply(ctx, before, s, seen.Event, wallNow())
}

func (e *Engine) relocate(ctx context.Context, s resume.Session, ev resume.Renamed, to string) {
	if to == "" || to == s.Transcript {
		return
	}
	before := s
	s.Transcript = to
	e.apply(ctx, before, s, ev, wallNow())
}

// Apply applies an event to a known session and returns the session after it.
func (e *Engine) Apply(ctx context.Context, key resume.Key, ev resume.Event) (resume.Session, error) {
	return ask(ctx, e, func(ctx context.Context) (resume.Session, error) {
		s, err := e.known(key)
		if err != nil {
			return s, err
		}
		return e.apply(ctx, s, s, resume.Bounded(ev), wallNow()), nil
	})
}

// Ping returns when the engine's loop has run once.
func (e *Engine) Ping(ctx context.Context) error {
	return e.do(ctx, func(context.Context) {})
}

// SetRules changes the rules and computes every wait again. others applies the rest of the new
// configuration, before any session is started by the new rules.
func (e *Engine) SetRules(ctx context.Context, rules resume.Rules, others func()) error {
	return e.do(ctx, func(ctx context.Context) {
		e.opts.Rules, e.recheck = rules, true
		e.sortReady()
		e.reconsider(ctx)
		others()
	})
}

// reconsider computes every wait again.
func (e *Engine) reconsider(ctx context.Context) {
	for s := range e.book.active() {
		if s.State == resume.Waiting || s.State == resume.Settling || s.State == resume.Parked && !s.ClosedAt.IsZero() {
			e.apply(ctx, s, s, resume.Reconsider{}, wallNow())
		}
	}
}

// SetPaused stops all starts, or lets the sessions that are due start.
func (e *Engine) SetPaused(ctx context.Context, paused bool) error {
	return e.do(ctx, func(ctx context.Context) {
		e.opts.Paused, e.recheck = paused, true
		if e.opts.StorePaused != nil {
			e.opts.StorePaused(paused)
		}
		for s := range e.book.active() {
			if paused && s.Run != nil {
				e.apply(ctx, s, s, resume.Recalled{}, wallNow())
			}
		}
	})
}

// apply takes one step. before is the session as stored; s is before with the values of the event's
// observation.
func (e *Engine) apply(ctx context.Context, before, s resume.Session, ev resume.Event, now time.Time) resume.Session {
	after := s.Next(ev, e.opts.Rules, now, e.opts.Rand())
	if s.IsPlaceholder() && after.Task == nil { // a dropped task has no session
		e.drop(s)
		e.opts.Changed(resume.Change{At: now, Event: ev, Before: before, After: after, Dropped: true})
		return after
	}
	if after.Name == "" && after.WorthKeeping() {
		after.Name = e.book.name(after.Key)
	}
	e.keep(after)
	change := resume.Change{At: now, Event: ev, Before: before, After: after}
	account := e.account(after.AccountKey())
	refused := !account.refusedAt.IsZero()
	if account.update(change) || before.State != after.State || before.Run != after.Run {
		e.recheck = true
	}
	e.opts.Changed(change)
	e.postpone(ctx, change)
	if refused {
		e.refuse(ctx, change)
	}
	e.lift(ctx, change)
	e.noteNewcomers(ctx, change)
	if change.ClaimedRun() != nil {
		session := after
		e.acting.Go(func() { e.opts.Act(ctx, session) })
	}
	return after
}

// keep stores the session, sets its timer and counts it.
func (e *Engine) keep(s resume.Session) {
	before, known := e.book.put(s)
	if known {
		e.account(before.AccountKey()).count(before, -1)
	}
	if known && before.AccountKey() != s.AccountKey() {
		e.leaveAccount(before)
	}
	e.account(s.AccountKey()).count(s, 1)
	if before.Run != nil {
		e.running--
	}
	if s.Run != nil {
		e.running++
	}
	e.dropTask(s.Key)
	if s.Task != nil {
		e.tasks[s.Key] = struct{}{}
		e.numbers.Note(s)
	}
	e.ready.drop(s.Key)
	e.timers.at(s.Key, s.Deadline())
}

func (e *Engine) dropTask(key resume.Key) {
	delete(e.tasks, key)
	if len(e.tasks) == 0 {
		e.numbers = resume.TaskNumbers{}
	}
}

// sortReady sorts the sessions that are due by the current rules.
func (e *Engine) sortReady() {
	for key := range e.ready.of {
		s, _ := e.book.get(key)
		e.ready.add(s, e.opts.Rules)
	}
}

func (e *Engine) sleep() time.Duration {
	wait := longestSleep
	if next, ok := e.timers.Min(); ok {
		wait = min(wait, next.at.Sub(wallNow()))
	}
	if !e.wake.IsZero() {
		wait = min(wait, e.wake.Sub(wallNow()))
	}
	return max(0, wait)
}
