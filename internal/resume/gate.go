package resume

import (
	"context"
	"time"
)

// Gate says why a session that is due may not start now, and when that may be another
// matter. It is asked last: who is let through starts, and a gate can only make it
// wait. It must not block. What it says must be the same for all sessions of
// an account that heed the same.
type Gate func(s Session, now time.Time) (why string, until time.Time)

// Heeds reports whether the session waits for a limit of its account of which another host
// was told. A person who asks for a try gets one; and one of days may be of a model that the session
// does not use.
func (s Session) Heeds(lifts, now time.Time) bool {
	switch {
	case !s.RetryAskedAt.IsZero():
		return false
	case s.heed() == always:
		return true
	default:
		return lifts.Sub(now) <= near
	}
}

// Stir has the gate be asked again for the sessions that it holds back.
func (e *Engine) Stir(ctx context.Context) error {
	return e.do(ctx, func(context.Context) { e.stirred = true })
}
