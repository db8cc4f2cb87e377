package deliver

import (
	"context"
	"errors"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Act sends one resume and reports on it. The engine calls it when a session
// enters Resuming. It returns when the resume is over, or soon after ctx is done.
func (d *Deliverer) Act(ctx context.Context, session resume.Session) {
	held, release, notSent := d.lease(ctx, session.Key)
	defer release()
	if notSent == nil {
		notSent = d.askHosts(ctx, held, session)
	}
	var due *delivery
	if notSent == nil { // what is looked at next stays true: nobody else continues the session now
		due, notSent = d.prepare(ctx, session)
	}
	if notSent != nil {
		d.report(ctx, session, *notSent)
	} else if due != nil {
		due.held = held
		d.report(ctx, session, due.carryOut(ctx))
	}
}

// prepare does all that must be true before anything is sent: the claim is on
// disk, the transcript holds no news, nobody holds the session or its holder
// can be talked to, and the agent knows how to go on. It returns neither a
// delivery nor a reason where the resume was withdrawn meanwhile.
func (d *Deliverer) prepare(ctx context.Context, session resume.Session) (*delivery, *resume.NotSent) {
	if err := d.opts.Sync(ctx, session.Key); err != nil {
		return nil, &resume.NotSent{Why: notOnDisk + err.Error()}
	}
	if session.Pending() {
		return d.prepareTask(ctx, session)
	}
	session, notSent := d.lookAgain(ctx, session)
	if notSent != nil || session.Run == nil {
		return nil, notSent
	}
	return d.decide(ctx, session, true)
}

// decide finds out how the session is continued, or why it is not. What is seen
// on the way is noted with the session where that is wanted.
func (d *Deliverer) decide(ctx context.Context, session resume.Session, note bool) (*delivery, *resume.NotSent) {
	settings := d.opts.Settings()
	a := settings.Agent(session.Key.Agent)
	if a == nil {
		return nil, &resume.NotSent{Why: "the agent " + session.Key.Agent + " is not configured or switched off"}
	}
	if notSent := refused(session, a, settings); notSent != nil {
		return nil, notSent
	}
	if note {
		session = d.weigh(ctx, a, session)
	}
	if notSent := parkIf(settings.TooCold(session)); notSent != nil {
		return nil, notSent
	}
	if settings.Reserved != nil {
		if why := settings.Reserved(session); why != "" {
			return nil, &resume.NotSent{Why: why, Then: resume.KeepForPeople}
		}
	}
	owner, err := a.Owner(ctx, session)
	if err != nil {
		why := "cannot tell whether another process has the session open: " + whatHelps(err).Error()
		return nil, &resume.NotSent{Why: why, Then: tellIfUnseen(err)}
	}
	if owner == nil && note && settings.Leaves && session.RetryAskedAt.IsZero() && d.closed(a, session) {
		return nil, &resume.NotSent{Why: "you have closed it", Then: resume.UserClosed}
	}
	if owner != nil && note {
		session = d.identify(ctx, a, session, owner)
		d.holders.saw(session.Key)
	} else {
		session, _ = d.writer(ctx, a, session)
	}
	due := &delivery{Deliverer: d, session: session, agent: a, owner: owner}
	return due, due.choose(ctx, settings)
}

// tellIfUnseen has a person told if processes cannot be seen: only a person can change that.
func tellIfUnseen(err error) resume.Then {
	if errors.Is(err, agent.ErrUnseen) {
		return resume.Tell
	}
	return resume.TryAgain
}

// whatHelps leaves out what was done when processes could not be seen: what helps is all
// that a person needs, and a notice has room for. An error that says it itself stays.
func whatHelps(err error) error {
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		if cause == agent.ErrUnseen { //nolint:errorlint // that very one, not what only is like it
			return cause
		}
	}
	return err
}

// choose asks the agent how the session is continued, with its holder where it
// has one, and finds the way to do that.
func (v *delivery) choose(ctx context.Context, settings Settings) *resume.NotSent {
	var (
		plan agent.Plan
		err  error
	)
	most, notSent := v.allowance()
	if notSent != nil {
		return notSent
	}
	v.most = most
	if v.owner != nil {
		plan, _, err = livePlan(ctx, v.agent, v.session, *v.owner, settings)
	} else {
		plan, err = v.agent.Plan(ctx, v.session, agent.Words{Prompt: settings.Prompt, Most: most})
	}
	switch {
	case err != nil:
		return &resume.NotSent{Why: err.Error(), Owner: v.owner, Then: tellIfUnseen(err)}
	case plan.Leave != nil:
		notSent := leaving(plan.Leave, v.owner)
		if v.owner != nil && notSent.Then == resume.Tell {
			notSent.Then = resume.TellUnreached
		}
		return notSent
	case plan.Type != nil:
		v.way = &typing{delivery: v, plan: plan.Type}
	case plan.Send != nil:
		v.way = &message{delivery: v, plan: plan.Send}
	case plan.Run.Unverifiable:
		v.way = &queue{command{delivery: v, plan: plan.Run}}
	default:
		v.way = &command{delivery: v, plan: plan.Run}
	}
	return nil
}
