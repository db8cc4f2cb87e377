package deliver

import (
	"context"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// weigh notes what a resume of the session has to read again, and returns the
// session with that. That it is not known is no trouble.
func (d *Deliverer) weigh(ctx context.Context, a agent.Agent, session resume.Session) resume.Session {
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
func (d *Deliverer) meter(ctx context.Context, a agent.Agent, session resume.Session) resume.Session {
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
