package engine

import (
	"context"
	"time"

	"resumed/internal/resume"
)

// Gate says why a session that is due may not start now, and when that may be another
// matter. It is asked last: who is let through starts, and a gate can only make it
// wait. It must not block. What it says must be the same for all sessions of
// an account that heed the same.
type Gate func(s resume.Session, now time.Time) (why string, until time.Time)

// Stir has the gate be asked again for the sessions that it holds back.
func (e *Engine) Stir(ctx context.Context) error {
	return e.do(ctx, func(context.Context) { e.stirred = true })
}
