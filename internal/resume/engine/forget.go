package engine

import (
	"context"
	"time"

	"resumed/internal/resume"
)

// remembered is how long a recovered session stays in the list.
const remembered = 24 * time.Hour

// forgetEvery is the time between two runs of forget.
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
		case s.Over() && longer(now.Sub(s.Latest()), rules.KeepEnded):
			e.apply(ctx, s, s, resume.Expired{}, now)
		case s.State != resume.Watching || s.Paused:
		case !s.LimitedAt.IsZero():
			if now.Sub(resume.Later(s.RecoveredAt, s.LimitedAt)) > remembered {
				e.keep(s.Forgotten())
				e.opts.Changed(resume.Change{At: now, Before: s, After: s, Dropped: true})
			}
		case longer(now.Sub(s.QuietSince()), rules.KeepQuiet):
			e.drop(s)
			e.opts.Changed(resume.Change{At: now, Before: s, After: s, Dropped: true})
		}
	}
	e.forgetAccounts(now)
}

// longer reports whether an age is above a bound; 0: no bound.
func longer(age, bound time.Duration) bool { return bound > 0 && age > bound }

// drop removes a session completely. It is found again when it moves, as after a restart.
func (e *Engine) drop(s resume.Session) {
	e.timers.set(s.Key, time.Time{})
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
	e.stirred = true
}

// forgetAccounts removes the accounts without sessions. Apart from Stagger, which is checked here, they
// have nothing that a restart would not lose too.
func (e *Engine) forgetAccounts(now time.Time) {
	for key, a := range e.accounts {
		if a.sessions == 0 && now.Sub(a.last.at) > e.opts.Rules.Stagger {
			delete(e.accounts, key)
		}
	}
}
