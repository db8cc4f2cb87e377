package deliver

import (
	"context"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// measure stores how much of the session's allowances is used and, with weigh, how much a resume has to
// read again. It returns the updated session. Unknown values are no error.
func (d *Deliverer) measure(ctx context.Context, a agent.Meter, session resume.Session, weigh bool) resume.Session {
	var news resume.Learned
	if weigh {
		size, known, err := a.Weigh(ctx, session)
		if d.isNews(ctx, session, "the size of its context", known && size != session.Context, err) {
			news.Context, session.Context = &size, size
		}
	}
	usage, known, err := a.Usage(ctx, session)
	if d.isNews(ctx, session, "how much of the allowance is used", known && usage != session.Usage, err) {
		news.Usage, session.Usage = &usage, usage
	}
	if news != (resume.Learned{}) {
		d.note(ctx, session, news)
	}
	return session
}

// countSubagents stores which subagents of the session were stopped. It returns the updated session.
func (d *Deliverer) countSubagents(ctx context.Context, a agent.Agent, session resume.Session) resume.Session {
	parent, ok := a.(agent.Parent)
	if !ok {
		return session
	}
	stopped, err := parent.Subagents(ctx, session)
	if d.isNews(ctx, session, "its subagents", !slices.Equal(stopped, session.Subagents), err) {
		if after, ok := d.apply(ctx, session.Key, resume.Learned{Subagents: &stopped}); ok {
			session.Subagents = after.Subagents
		}
	}
	return session
}

// Price stores what the session has cost until now, if the agent records that and the session may
// continue with its user's own key.
func (d *Deliverer) Price(ctx context.Context, a agent.Agent, session resume.Session) resume.Session {
	payer, ok := d.offersKey(a, session)
	if !ok {
		return session
	}
	cost, known, err := payer.Cost(ctx, session)
	if d.isNews(ctx, session, "what it has cost", known && cost != session.Cost, err) {
		d.note(ctx, session, resume.Learned{Cost: &cost})
		session.Cost = cost
	}
	return session
}

// offersKey reports whether the session may continue with its user's own key.
func (d *Deliverer) offersKey(a agent.Agent, session resume.Session) (payable, bool) {
	payer, ok := a.(payable)
	return payer, ok && d.opts.Budget != nil && d.opts.Budget.Offers(session.Key.Agent)
}

// isNews reports whether a value was read and has changed. It logs an error.
func (d *Deliverer) isNews(ctx context.Context, session resume.Session, what string, changed bool, err error) bool {
	if err != nil && ctx.Err() == nil {
		d.logOf(session.Key).Debug("something of a session could not be read", "what", what, "err", err)
	}
	return err == nil && changed
}

// note applies an event, and returns the session with the updated fields about its process.
func (d *Deliverer) note(ctx context.Context, session resume.Session, news resume.Event) resume.Session {
	if after, ok := d.apply(ctx, session.Key, news); ok {
		session.Program, session.Origin, session.Kind = after.Program, after.Origin, after.Kind
	}
	return session
}
