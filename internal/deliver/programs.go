package deliver

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// justNow is how old the first sign of a session may be whose process is still
// worth looking for.
const justNow = time.Minute

// Changed is told every step: some are moments at which a process can be looked
// at. It blocks on nothing.
func (d *Deliverer) Changed(c resume.Change) {
	d.holders.follow(c.After)
	if !c.After.Interrupted() {
		d.glances.forget(c.After.Key)
	}
	_, moves := c.Event.(resume.Progressed)
	if telling(c) && !(moves && d.witnesses.vain(c.After.Key, c.At)) {
		d.witnesses.call(c.After.Key, !weighed(c))
	}
}

// telling reports whether a step is one at which the session's process likely
// lives, and at which it is not known yet what it was started with: it was just
// given a prompt, it moves, or it has just been stopped by a limit.
func telling(c resume.Change) bool {
	fresh := func(at time.Time) bool { return c.At.Sub(at) < justNow }
	switch ev := c.Event.(type) {
	case resume.Limited:
		return c.After.Interrupted()
	case resume.Prompted:
		return fresh(ev.At)
	case resume.Progressed:
		return fresh(ev.At) && c.After.StartedWith() == nil
	default:
		return false
	}
}

// weighed reports whether a step has told what a resume has to read again.
func weighed(c resume.Change) bool {
	ev, ok := c.Event.(resume.Limited)
	return ok && ev.Context.Tokens > 0 && c.After.Context == ev.Context
}

// A process may write to its transcript before it says which session it holds:
// one that is not found is looked for again, soon.
const (
	mostLooks = 6
	nextLook  = 500 * time.Millisecond
)

// breath is how long those who are called after a look wait for company: a look goes
// through all processes of the machine, and there may be hundreds of calls a second.
const breath = 50 * time.Millisecond

// search is how a session's process is looked for.
type search struct {
	vain  int  // how often that was in vain
	weigh bool // how large the session's context is, is looked at first
}

// WatchPrograms looks at the processes of the sessions that are called, and at
// those that hold stopped ones, until ctx is done.
func (d *Deliverer) WatchPrograms(ctx context.Context) error {
	holders := d.holders.next()
	looks := make(map[resume.Key]search)
	var again <-chan time.Time // when those are looked for again; nil: there are none
	wake, rested := d.witnesses.wake, (<-chan time.Time)(nil)
	for {
		if again == nil && len(looks) > 0 {
			again = time.After(nextLook)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-rested:
			wake = d.witnesses.wake
		case <-wake:
			called := d.witnesses.take()
			for key, weigh := range called {
				looks[key] = search{weigh: weigh}
			}
			d.lookFor(ctx, looks, slices.Collect(maps.Keys(called)))
			wake, rested = nil, time.After(breath)
		case <-again:
			d.lookFor(ctx, looks, slices.Collect(maps.Keys(looks)))
			again = nil
		case <-d.holders.wake:
			if holders == nil {
				holders = d.holders.next()
			}
		case <-holders:
			d.lookAfterHolders(ctx)
			holders = d.holders.next()
		}
	}
}

// manyAtOnce is how many sessions the engine is asked for at a time: of none of them more may
// be held than a moment old, and what is held takes room.
const manyAtOnce = 128

// lookFor looks for the processes of some sessions, and drops those of looks that
// need not be looked for again.
func (d *Deliverer) lookFor(ctx context.Context, looks map[resume.Key]search, keys []resume.Key) {
	together := process.Together(ctx) // who holds which of them is answered by one look at all processes
	settings := d.opts.Settings()
	for some := range slices.Chunk(keys, manyAtOnce) {
		standing, err := d.opts.Engine.Standing(ctx, some)
		if err != nil {
			return // the daemon stops
		}
		for i, key := range some {
			look := looks[key]
			found := d.witness(together, settings.Agent(key.Agent), standing[i], look)
			look.vain++
			switch {
			case found:
				delete(looks, key)
			case look.vain == mostLooks || standing[i].Interrupted() && noProcess(together, settings.Agent(key.Agent)):
				d.witnesses.giveUp(key, time.Now())
				delete(looks, key)
			default:
				looks[key] = look
			}
		}
	}
}

// noProcess reports whether no process can turn out to hold a session of the agent that has stopped. Of a
// session that moves that says little: its process may have only just been started, and does not look
// like one of the agent yet.
func noProcess(ctx context.Context, a agent.Agent) bool { return a != nil && a.NoProcess(ctx) }

// witness looks at the process of a session, and reports whether there is
// nothing more to look for. What the session's files say of one that stands still is
// read at the first look alone.
func (d *Deliverer) witness(ctx context.Context, a agent.Agent, standing *resume.Session, look search) bool {
	if a == nil || standing == nil {
		return true // it is switched off, or nobody knows it any longer
	}
	session, counted := *standing, true
	if session.Interrupted() {
		session = d.Price(ctx, a, session)
		counted = look.vain >= countLooks || !d.uncounted(a, session)
	}
	return d.seen(ctx, a, session, look) && counted
}

// seen is witness of all but what the session has cost.
func (d *Deliverer) seen(ctx context.Context, a agent.Agent, session resume.Session, look search) bool {
	if look.vain == 0 && session.Interrupted() {
		if look.weigh {
			d.weigh(ctx, a, session)
		} else {
			d.meter(ctx, a, session)
		}
	}
	if d.stillRuns(ctx, a, session) {
		return true
	}
	owner, err := a.Owner(ctx, session)
	if _, seen := d.writer(ctx, a, session); seen && err == nil && owner == nil {
		return true
	}
	if err != nil || owner == nil {
		return time.Since(session.LimitedAt) > justNow && time.Since(session.PromptedAt) > justNow && time.Since(session.MovedAt) > justNow
	}
	session = d.identify(ctx, a, session, owner)
	// Two may live there for a moment: a shell that is about to run a command is a copy of itself.
	guessed := owner.Guessed && session.StartedWith() == nil
	return d.reach(ctx, a, session, *owner) && !guessed
}

// writer notes what the process was started with that writes the session's
// transcript, where the agent knows no more of it than that: it holds nothing, but
// tells where the session lives.
func (d *Deliverer) writer(ctx context.Context, a agent.Agent, session resume.Session) (after resume.Session, seen bool) {
	pid := a.Writer(ctx, session)
	if pid == 0 {
		return session, false
	}
	return d.identify(ctx, a, session, &resume.Owner{PID: pid, Kind: session.Kind}), true
}

// stillRuns reports whether the process is still the one of which all is known:
// the cheap look, at one file of the kernel. It notes that it was seen.
func (d *Deliverer) stillRuns(ctx context.Context, a agent.Agent, session resume.Session) bool {
	if session.Origin == nil || session.Interrupted() || !a.Lives(session.Origin.Process) {
		return false
	}
	if session.StartedWith() == nil {
		seen := *session.Origin
		seen.SeenAt = time.Now().Round(0)
		d.note(ctx, session, resume.Identified{Origin: &seen})
	}
	return true
}

// identify notes which program the owner of a session runs, what it was started
// with and whether a person sits before it, and returns the session with that.
func (d *Deliverer) identify(ctx context.Context, a agent.Agent, session resume.Session, owner *resume.Owner) resume.Session {
	var news resume.Identified
	if program, ok := a.Identify(owner.PID); ok && program != session.Program {
		news.Program = program
	}
	had := session.StartedWith()
	known := had != nil && a.Lives(had.Process) && had.Process.PID == owner.PID
	if !owner.Guessed && (!known || had.Login != "") { // a person may sign in as somebody else in the midst of it
		news.Origin = a.Origin(owner.PID, d.opts.Settings().Secrets)
	}
	if session.Attended(owner.Kind).Kind != session.Kind {
		news.Kind = owner.Kind
	}
	if news == (resume.Identified{}) {
		return session
	}
	return d.note(ctx, session, news)
}

// note applies what was seen of a session's process, and returns the session with
// that.
func (d *Deliverer) note(ctx context.Context, session resume.Session, news resume.Event) resume.Session {
	after, err := d.opts.Engine.Apply(ctx, session.Key, news)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, resume.ErrNoSession) {
			d.log.Error("an event could not be applied", "session", session.Key.ID, "agent", session.Key.Agent, "err", err)
		}
		return session
	}
	session.Program, session.Origin, session.Kind = after.Program, after.Origin, after.Kind
	return session
}
