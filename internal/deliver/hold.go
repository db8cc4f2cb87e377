package deliver

import (
	"context"
	"time"

	"resumed/internal/resume"
)

// Hold says that no other host continues a session while this one does.
type Hold interface {
	// Confirm makes sure of it. What is sent is sent within seconds of that.
	Confirm(ctx context.Context) error

	// Release lets other hosts have the session.
	Release(ctx context.Context)
}

// nextHoldTry lies between two tries to hold what runs already.
const nextHoldTry = 10 * time.Second

// askHosts makes sure that no other host looks after a session that others may
// continue as well.
func (d *Deliverer) askHosts(ctx context.Context, h *heldLease, session resume.Session) *resume.NotSent {
	if d.opts.Hold == nil || d.opts.DryRun {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hold != nil {
		return nil
	}
	hold, notSent := d.opts.Hold(ctx, session)
	h.hold = hold
	return notSent
}

// confirmHold makes sure that no other host looks after the session. It is the last that is
// done before the prompt is sent: what is done before may take longer than a hold is good for.
func (v *delivery) confirmHold(ctx context.Context) *resume.NotSent {
	v.held.mu.Lock()
	defer v.held.mu.Unlock()
	if v.held.hold == nil {
		return nil
	}
	if err := v.held.hold.Confirm(ctx); err != nil {
		return &resume.NotSent{Why: notSure + err.Error(), Owner: v.owner}
	}
	return nil
}

const notSure = "cannot tell whether another machine looks after the session: "

// insist asks for what runs already, until it has it.
func (d *Deliverer) insist(ctx context.Context, h *heldLease, session resume.Session) {
	for d.askHosts(ctx, h, session) != nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(nextHoldTry):
		}
	}
}
