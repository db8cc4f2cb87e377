package resume

import (
	"context"
	"slices"
	"time"

	"resumed/internal/limit"
)

// jump is how far the clock must have been set to be noticed.
const jump = 2 * slack

// watchClock notices that the clock was set back: what was noted by the clock
// of before would lie in a future that may be years away. It notices as well that
// the clock ran on while nothing else did, by which it was set forward, or the
// machine slept.
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

// skip gives what settles the time that nobody had.
func (e *Engine) skip(ctx context.Context, skipped time.Duration, now time.Time) {
	for s := range e.book.stirring() {
		if s.State == Settling {
			e.apply(ctx, s, s, Slept{skipped}, now)
		}
	}
}

// rewind makes of what was noted in the future what was noted now.
func (e *Engine) rewind(ctx context.Context, now time.Time) {
	for s := range e.book.all() {
		if s.latest().After(now) {
			e.apply(ctx, s, s, Rewound{}, now)
		}
	}
	for _, a := range e.accounts {
		*a = account{sessions: a.sessions, kept: a.kept, windows: newWindows()}
	}
	e.restoreAccounts(slices.Collect(e.book.all()))
	e.forgot, e.stirred = now, true
}

// latest returns when something last happened to the session.
func (s Session) latest() time.Time {
	happened := []time.Time{s.LimitedAt, s.MovedAt, s.BornAt, s.FoundAt, s.RecoveredAt, s.WaitFrom, s.RetryAskedAt, s.lastStart()}
	return slices.MaxFunc(happened, time.Time.Compare)
}

// counted returns a reset that was said at a time which lies ahead now: a duration counts from
// now on.
func counted(reset limit.Reset, said, now time.Time) limit.Reset {
	if ahead := said.Sub(now); reset.Counted && !said.IsZero() && ahead > 0 {
		reset.At = reset.At.Add(-ahead)
	}
	return reset
}

// rewound is the session after the clock was set back. A stated reset is a time
// of the provider's clock and stays, unless it is counted from our own; what else holds it back is looked at again.
func (s Session) rewound(r Rules, now time.Time) Session {
	s.Limit.Reset = counted(s.Limit.Reset, s.LimitedAt, now)
	for _, t := range []*time.Time{&s.LimitedAt, &s.StoppedAt, &s.MovedAt, &s.BornAt, &s.FoundAt, &s.RecoveredAt, &s.WaitFrom, &s.RetryAskedAt} {
		*t = earlier(*t, now)
	}
	s.Attempts = slices.Clone(s.Attempts)
	for i := range s.Attempts {
		a := &s.Attempts[i]
		a.StartedAt, a.EndedAt = earlier(a.StartedAt, now), earlier(a.EndedAt, now)
	}
	s.Hold = time.Time{}
	return s.reconsidered(r, now)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
