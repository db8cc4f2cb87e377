package deliver

import (
	"context"
	"fmt"
	"time"

	"resumed/internal/agent"
	"resumed/internal/childenv"
	"resumed/internal/resume"
)

// Purse is who keeps what runs with the user's own keys cost. Its words are for people.
type Purse interface {
	// Left returns what a run of the session may cost now, in US dollars, or why none may begin.
	Left(session resume.Session) (most float64, why string)

	// SetAside takes that much out of what is left before the run of that mark begins, or
	// says why not. had is what the session has cost until then.
	SetAside(session resume.Session, mark string, most float64, had resume.Cost) (why string)

	// Settle notes what the session has cost when the run is over, where that is known, and
	// says that the run was stopped by what it might cost; empty: it was not.
	Settle(session resume.Session, mark string, has resume.Cost, known, failed bool) (why string)

	// Return gives back what was set aside for a run that never began.
	Return(mark string)

	// Offers reports whether the user may have sessions of the agent go on so.
	Offers(agent string) bool

	// Key returns the variable that holds the key, and the key: read anew each time.
	Key(agent string) (variable, key string, err error)
}

// payer returns the agent as one that goes on with a key, or why it cannot. What is wrong with
// the key itself shows when it is read.
func (d *Deliverer) payer(a agent.Agent) (payable, string) {
	payer, ok := a.(payable)
	if !ok || d.opts.Purse == nil {
		return nil, "what a session of " + a.Name() + " costs is not known, so no budget would hold"
	}
	return payer, ""
}

// unpaid is a resume that is not sent with the user's key, and not tried again with it.
func unpaid(why string) *resume.NotSent {
	return &resume.NotSent{Why: "it cannot continue with your own key: " + why, Then: resume.DropOwnKey}
}

// Unpayable says why the session cannot go on with its user's own key, as things stand; empty:
// it can, at most for what is returned. It only looks.
func (d *Deliverer) Unpayable(ctx context.Context, session resume.Session) (most float64, why string) {
	session = d.located(session)
	session.Paid, session.RetryAskedAt = new(resume.Paid), time.Now() // as a person asks for it
	due, notSent := d.decide(ctx, session, false)
	if notSent == nil {
		notSent = due.way.ready(ctx)
	}
	if notSent != nil {
		return 0, notSent.Why
	}
	return d.opts.Purse.Left(session)
}

// allowance returns what the command of a session may cost that goes on with its user's key; 0:
// it goes on with its account.
func (v *delivery) allowance() (most float64, notSent *resume.NotSent) {
	if v.session.Paid == nil {
		return 0, nil
	}
	if _, why := v.payer(v.agent); why != "" {
		return 0, unpaid(why)
	}
	if v.owner != nil { // whose account is its own
		why := heldBy(*v.owner) + ": quit it there first, and it continues in the background with your own key"
		return 0, &resume.NotSent{Why: why, Then: resume.Tell, Owner: v.owner}
	}
	most, why := v.opts.Purse.Left(v.session)
	if why != "" {
		return 0, unpaid(why)
	}
	return most, nil
}

// payable says why the command may not have the user's key.
func (c *command) payable(ctx context.Context) *resume.NotSent {
	if c.session.Paid == nil {
		return nil
	}
	payer, why := c.payer(c.agent)
	if why == "" {
		why = payer.Unpayable(c.session, c.plan.Dir, c.env.environ())
	}
	if why == "" {
		if _, known, err := payer.Cost(ctx, c.session); err != nil {
			return &resume.NotSent{Why: "cannot read what the session has cost: " + err.Error()}
		} else if !known {
			why = "this version of the agent does not record what a session costs, so no budget would hold"
		}
	}
	if why != "" {
		return unpaid(why)
	}
	return nil
}

// pay sets aside what the command may cost, and returns the environment that it has the key in.
// What was set aside is on disk before it runs.
func (c *command) pay(ctx context.Context) (environ []string, notSent *resume.NotSent) {
	if c.session.Paid == nil {
		return c.env.set, nil
	}
	payer, why := c.payer(c.agent)
	if why != "" {
		return nil, unpaid(why)
	}
	variable, key, err := c.opts.Purse.Key(c.session.Key.Agent)
	if err != nil {
		return nil, unpaid(err.Error())
	}
	had, known, err := payer.Cost(ctx, c.session)
	if err != nil || !known {
		return nil, &resume.NotSent{Why: fmt.Sprintf("cannot read what the session has cost: %v", err)}
	}
	mark := c.session.Run.Mark
	if why := c.opts.Purse.SetAside(c.session, mark, c.most, had); why != "" {
		return nil, unpaid(why)
	}
	if err := c.opts.Sync(ctx); err != nil {
		c.opts.Purse.Return(mark)
		return nil, &resume.NotSent{Why: notOnDisk + err.Error()}
	}
	return append(childenv.Without(c.env.set, variable), variable+"="+key, resume.OwnKeyVariable+"=1"), nil
}

// giveBack returns what was set aside for a command that was not started.
func (c *command) giveBack() {
	if c.session.Paid != nil {
		c.opts.Purse.Return(c.session.Run.Mark)
	}
}

// settle notes what a run has cost that is over, and adds to its end that it was stopped by that.
func (d *Deliverer) settle(ctx context.Context, session resume.Session, ended resume.Ended) resume.Ended {
	mark := session.Run.Mark
	attempt, known := session.Tried(mark)
	if !known || !attempt.OwnKey || d.opts.Purse == nil {
		return ended
	}
	var has resume.Cost
	counted := false
	if a, ok := d.opts.Settings().Agent(session.Key.Agent).(payable); ok {
		var err error
		if has, counted, err = a.Cost(ctx, session); err != nil {
			d.log.Warn("the cost of a resume with your own key could not be read: all that it was allowed to cost counts as spent",
				"session", session.Key.ID, "agent", session.Key.Agent, "err", err)
		}
	}
	ended.Unpaid = d.opts.Purse.Settle(session, mark, has, counted, ended.Outcome == resume.Failed)
	if ended.Unpaid != "" { // what the run wrote must not be taken for somebody else's work later
		if err := d.opts.Transcripts.Look(ctx, d.located(session)); err != nil && ctx.Err() == nil {
			d.log.Warn("the transcript could not be read again", "session", session.Key.ID, "agent", session.Key.Agent, "err", err)
		}
	}
	return ended
}
