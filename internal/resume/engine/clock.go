package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"resumed/internal/resume"
)

// jump is how far the clock must be set to be noticed.
const jump = 2 * time.Second

// watchClock notices that the clock was set back: times that were stored before would be in the future,
// perhaps for years. It also notices that the clock went further than the monotonic time: it was set
// forward, or the machine slept.
func (e *Engine) watchClock(ctx context.Context) {
	turn := time.Now() // with its monotonic reading
	now := turn.Round(0)
	since, begins := e.latest, e.turned.IsZero()
	back := now.Before(since.Add(-jump))
	var skipped time.Duration
	if !e.turned.IsZero() {
		skipped = now.Sub(since) - turn.Sub(e.turned)
	}
	e.latest, e.turned = now, turn
	switch {
	case back:
		e.rewind(ctx, now)
	case skipped > jump:
		for s := range e.book.active() {
			if s.State == resume.Settling { // no process ran in the skipped time
				e.apply(ctx, s, s, resume.Slept{For: skipped}, now)
			}
		}
	}
	if begins || now.Sub(since) > away {
		e.comeBack(ctx, since, now)
	}
}

func (e *Engine) rewind(ctx context.Context, now time.Time) {
	for s := range e.book.all() {
		if s.IsAhead(now) {
			e.apply(ctx, s, s, resume.Rewound{}, now)
		}
	}
	for _, a := range e.accounts {
		*a = account{sessions: a.sessions, kept: a.kept, windows: newWindows()}
	}
	e.restoreAccounts(slices.Collect(e.book.all()))
	e.forgot, e.recheck = now, true
}

// away is how long a pause of the engine's loop must be to count as an absence of the daemon: the loop
// never sleeps longer than a minute.
const away = 5 * time.Minute

// comeBack marks the interruptions whose wait ended while no daemon ran, or the machine slept: a person
// is asked about them. After days the person may have done the work in another way, or not want it any
// more.
func (e *Engine) comeBack(ctx context.Context, since, now time.Time) {
	for s := range e.book.active() {
		if s.Interrupted() && s.Missed(since, e.opts.Rules, now) {
			e.apply(ctx, s, s, resume.CameBack{Since: since}, now)
		}
	}
}

// remembered is how long a recovered session stays in the list.
const remembered = 24 * time.Hour

const forgetEvery = time.Hour

// forget removes sessions that ended long ago, once an hour, so that the memory of a daemon that runs
// for years does not grow with its age. Interrupted sessions that wait or run are never forgotten.
func (e *Engine) forget(ctx context.Context, now time.Time) {
	if now.Sub(e.forgot) < forgetEvery {
		return
	}
	e.forgot = now
	rules := e.opts.Rules
	for s := range e.book.all() {
		switch {
		case s.Run != nil:
		case s.Task != nil && !s.Pending() && s.State == resume.Watching && now.Sub(s.Task.BegunAt) > remembered:
			e.apply(ctx, s, s, resume.Relisted{}, now)
		case s.NeedsPerson() && longer(now.Sub(s.Latest()), rules.KeepEnded):
			e.apply(ctx, s, s, resume.Expired{}, now)
		case s.State != resume.Watching || s.Paused:
		case !s.LimitedAt.IsZero():
			over := resume.Later(s.RecoveredAt, s.LimitedAt)
			if s.Undo != nil { // a person may change their mind
				over = resume.Later(over, s.Undo.Limit.Reset.At)
			}
			if now.Sub(over) > remembered {
				e.keep(s.Forgotten())
				e.opts.Changed(resume.Change{At: now, Before: s, After: s, Dropped: true})
			}
		case longer(now.Sub(s.QuietSince()), rules.KeepQuiet):
			e.drop(s)
			e.opts.Changed(resume.Change{At: now, Before: s, After: s, Dropped: true})
		}
	}
	// Apart from Stagger, an account without sessions has nothing that a restart would not lose too.
	maps.DeleteFunc(e.accounts, func(_ resume.AccountKey, a *account) bool {
		return a.sessions == 0 && now.Sub(a.last.at) > rules.Stagger
	})
}

func longer(age, bound time.Duration) bool { return bound > 0 && age > bound }

// drop removes a session completely. It is found again when it moves, as after a restart.
func (e *Engine) drop(s resume.Session) {
	e.timers.drop(s.Key)
	e.ready.drop(s.Key)
	e.dropTask(s.Key)
	e.book.drop(s.Key)
	e.account(s.AccountKey()).count(s, -1)
	e.leaveAccount(s)
}

// leaveAccount removes a session from its account: its tries are no longer probes, and others do not
// wait for its window any longer.
func (e *Engine) leaveAccount(s resume.Session) {
	a := e.account(s.AccountKey())
	a.leave(s.Key)
	a.windows.drop(s.Key)
	e.recheck = true
}
