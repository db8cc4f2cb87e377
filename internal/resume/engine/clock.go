package engine

import (
	"context"
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
		e.skip(ctx, skipped, now)
	}
	if begins || now.Sub(since) > away {
		e.comeBack(ctx, since, now)
	}
}

// skip gives settling sessions the skipped time back, in which no process ran.
func (e *Engine) skip(ctx context.Context, skipped time.Duration, now time.Time) {
	for s := range e.book.active() {
		if s.State == resume.Settling {
			e.apply(ctx, s, s, resume.Slept{For: skipped}, now)
		}
	}
}

// rewind sets times that are in the future to now.
func (e *Engine) rewind(ctx context.Context, now time.Time) {
	for s := range e.book.all() {
		if s.Latest().After(now) {
			e.apply(ctx, s, s, resume.Rewound{}, now)
		}
	}
	for _, a := range e.accounts {
		*a = account{sessions: a.sessions, kept: a.kept, windows: newWindows()}
	}
	e.restoreAccounts(slices.Collect(e.book.all()))
	e.forgot, e.stirred = now, true
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
