package engine

import (
	"context"
	"time"

	"resumed/internal/resume"
)

// away is how long the engine's loop must have stood still for the daemon to have
// been away: it never sleeps longer than a minute.
const away = 5 * time.Minute

// comeBack lets the interruptions be asked about whose time passed while nobody
// was there to see it: no daemon ran, or the machine slept. Who comes back after
// days may have done the work otherwise, or not want it any more.
func (e *Engine) comeBack(ctx context.Context, since, now time.Time) {
	for s := range e.book.activeSessions() {
		if s.Interrupted() && s.Missed(since, e.opts.Rules, now) {
			e.apply(ctx, s, s, resume.CameBack{Since: since}, now)
		}
	}
}
