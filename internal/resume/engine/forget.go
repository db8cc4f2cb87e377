package engine

import (
	"context"
	"time"

	"resumed/internal/resume"
)

// remembered is how long a session that recovered stays in the list.
const remembered = 24 * time.Hour

// forgetEvery is the pause between two looks at what may be forgotten.
const forgetEvery = time.Hour

// forget lets go of what is long over, once an hour, so that a daemon that runs
// for years grows with what it looks after and not with its age. What is
// interrupted and waits, or runs, is never forgotten.
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
			if now.Sub(later(s.RecoveredAt, s.LimitedAt)) > remembered {
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

// longer reports whether an age is beyond a bound; 0: there is none.
func longer(age, bound time.Duration) bool { return bound > 0 && age > bound }

// drop forgets a session altogether. It is found again when it moves, as after a
// restart.
func (e *Engine) drop(s resume.Session) {
	e.timers.set(s.Key, time.Time{})
	e.ready.drop(s.Key)
	e.dropTask(s.Key)
	e.book.drop(s.Key)
	e.account(s.AccountKey()).count(s, -1)
	e.leaveAccount(s)
}

// leaveAccount ends what a session means for its account: it does not try for the others any
// longer, and they do not wait for what it was told.
func (e *Engine) leaveAccount(s resume.Session) {
	a := e.account(s.AccountKey())
	a.leave(s.Key)
	a.windows.drop(s.Key)
	e.stirred = true
}

// forgetAccounts forgets the accounts of which no session is left. They say
// nothing that another start would not have forgotten, too, but for the distance
// that the next session keeps from the last.
func (e *Engine) forgetAccounts(now time.Time) {
	for key, a := range e.accounts {
		if a.sessions == 0 && now.Sub(a.last.at) > e.opts.Rules.Stagger {
			delete(e.accounts, key)
		}
	}
}
