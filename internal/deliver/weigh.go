package deliver

import (
	"context"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// weigh notes what a resume of the session has to read again, and returns the
// session with that. That it is not known is no trouble.
func (d *Deliverer) weigh(ctx context.Context, a agent.Meter, session resume.Session) resume.Session {
	size, known, err := a.Weigh(ctx, session)
	switch {
	case err != nil && ctx.Err() == nil:
		d.log.Debug("it could not be read how large the context is", "session", session.Key.ID, "agent", session.Key.Agent, "err", err)
	case err == nil && known && size != session.Context:
		d.note(ctx, session, resume.Weighed{Context: size})
		session.Context = size
	}
	return d.meter(ctx, a, session)
}

// meter notes how much of its allowances is used, as far as the agent tells.
func (d *Deliverer) meter(ctx context.Context, a agent.Meter, session resume.Session) resume.Session {
	usage, known, err := a.Usage(ctx, session)
	switch {
	case err != nil && ctx.Err() == nil:
		d.log.Debug("it could not be read how much of the allowance is used", "session", session.Key.ID, "agent", session.Key.Agent, "err", err)
	case err == nil && known && usage != session.Usage:
		d.note(ctx, session, resume.Metered{Usage: usage})
		session.Usage = usage
	}
	return session
}

// payable is an agent that goes on with a key of its user's own, counts what that costs, and stops
// at a sum.
type payable interface {
	// Cost returns what the session has cost until now, by the agent's own count; false:
	// it has not counted.
	Cost(ctx context.Context, s resume.Session) (resume.Cost, bool, error)

	// Unpayable says why a run of the session in that directory and environment would not use
	// such a key, or would show it to somebody else; empty: nothing is against it.
	Unpayable(s resume.Session, dir string, environ []string) string
}

// countLooks is how often it is looked whether an agent that a limit stopped has counted what the
// session cost: it does so when it ends.
const countLooks = 4

// uncounted reports whether that may still come.
func (d *Deliverer) uncounted(a agent.Agent, session resume.Session) bool {
	_, ok := a.(payable)
	return ok && d.opts.Purse != nil && d.opts.Purse.Offers(session.Key.Agent) && session.Cost.Read <= session.Seen.Offset
}

// Price notes what the session has cost until now, as far as the agent counts that and its user
// may have it go on at their own cost.
func (d *Deliverer) Price(ctx context.Context, a agent.Agent, session resume.Session) resume.Session {
	payer, ok := a.(payable)
	if !ok || d.opts.Purse == nil || !d.opts.Purse.Offers(session.Key.Agent) {
		return session
	}
	cost, known, err := payer.Cost(ctx, session)
	switch {
	case err != nil && ctx.Err() == nil:
		d.log.Debug("it could not be read what a session has cost", "session", session.Key.ID, "agent", session.Key.Agent, "err", err)
	case err == nil && known && cost != session.Cost:
		d.note(ctx, session, resume.Priced{Cost: cost})
		session.Cost = cost
	}
	return session
}
