package deliver

import (
	"context"
	"time"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Act sends one resume and applies its result. The engine calls it when a session enters Resuming. It
// returns when the resume is over, or soon after ctx is done.
func (d *Deliverer) Act(ctx context.Context, session resume.Session) {
	gates := gatesOfResume
	if session.Pending() {
		gates = gatesOfTask
	}
	v := &delivery{Deliverer: d, session: session, records: true}
	defer v.releaseLease(ctx)
	d.report(ctx, session, v.carryOut(ctx, gates))
}

// Preview returns what the next resume of a session would do now. It asks the same gates as a resume,
// but takes no lease, sends nothing and stores nothing.
func (d *Deliverer) Preview(ctx context.Context, session resume.Session) view.Plan {
	plan := view.Plan{Command: []string{}, Repeated: []string{}, LeftOut: []string{}, Env: []string{}, EnvUnset: []string{}}
	v := &delivery{Deliverer: d, session: d.located(session)}
	notSent := v.pass(ctx, gatesOfPreview)
	if v.agent != nil && !session.Pending() {
		plan.Prompt = words(ctx, v.agent, v.session, v.settings)
	}
	if notSent == nil {
		notSent = v.way.preview(ctx, &plan)
	}
	if notSent != nil {
		plan.Instead = notSent.Why
	}
	return plan
}

// Unpayable returns why the session cannot continue with its user's own key now. If why is empty it
// can, and most is what it may cost. Unpayable changes nothing.
func (d *Deliverer) Unpayable(ctx context.Context, session resume.Session) (most float64, why string) {
	session = d.located(session)
	session.Paid, session.RetryAskedAt = new(resume.Paid), time.Now() // as if a person asked for it
	v := &delivery{Deliverer: d, session: session}
	notSent := v.pass(ctx, gatesOfSession)
	if notSent == nil {
		notSent = v.way.ready(ctx)
	}
	if notSent != nil {
		return 0, notSent.Why
	}
	return d.opts.Budget.Left(session)
}
