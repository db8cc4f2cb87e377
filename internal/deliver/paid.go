package deliver

import (
	"context"

	"resumed/internal/childenv"
	"resumed/internal/resume"
	"resumed/internal/runenv"
)

// unpaid is the verdict on a resume that is not sent, and not tried again, with the user's key.
func unpaid(why string) *resume.NotSent {
	return &resume.NotSent{Why: "it cannot continue with your own key: " + why, Then: resume.DropOwnKey}
}

// keyIsAllowed finds out what the command may cost. The key itself is checked when it is read.
func (v *delivery) keyIsAllowed() *resume.NotSent {
	if v.session.Paid == nil {
		return nil
	}
	payer, ok := v.agent.(payable)
	if !ok || v.opts.Budget == nil {
		return unpaid("what a session of " + v.agent.Name() + " costs is not known, so no budget would hold")
	}
	if v.owner != nil { // the process uses its own account
		why := openIn(*v.owner) + ": quit it there first, and it continues in the background with your own key"
		return &resume.NotSent{Why: why, Then: resume.Tell, Owner: v.owner}
	}
	most, why := v.opts.Budget.Remaining(v.session)
	if why != "" {
		return unpaid(why)
	}
	v.payer, v.most = payer, most
	return nil
}

// payable returns why a command in that directory and environment may not have the user's key.
func (v *delivery) payable(ctx context.Context, dir string, env runenv.Environment) *resume.NotSent {
	if v.payer == nil {
		return nil
	}
	if why := v.payer.WhyNotOwnKey(v.session, dir, env.Environ()); why != "" {
		return unpaid(why)
	}
	cost, known, err := v.payer.Cost(ctx, v.session)
	switch {
	case err != nil:
		return tryAgain("cannot read what the session has cost: " + err.Error())
	case !known:
		return unpaid("this version of the agent does not record what a session costs, so no budget would hold")
	}
	v.had = cost
	return nil
}

// pay reserves what the command may cost, on disk, and returns its environment with the key.
func (v *delivery) pay(ctx context.Context, environ []string) ([]string, *resume.NotSent) {
	if v.payer == nil {
		return environ, nil
	}
	variable, key, err := v.opts.Budget.Key(v.session.Key.Agent)
	if err != nil {
		return nil, unpaid(err.Error())
	}
	if why := v.opts.Budget.Reserve(v.session, v.session.Run.Mark, v.most, v.had); why != "" {
		return nil, unpaid(why)
	}
	if err := v.opts.Sync(ctx); err != nil {
		v.giveBack()
		return nil, tryAgain(notOnDisk + err.Error())
	}
	return append(childenv.Without(environ, variable), variable+"="+key, resume.OwnKeyVariable+"=1"), nil
}

func (v *delivery) giveBack() {
	if v.payer != nil {
		v.opts.Budget.Cancel(v.session.Run.Mark)
	}
}

// settle stores what a finished run has cost. If the cost stopped the run, the event says so.
func (d *Deliverer) settle(ctx context.Context, session resume.Session, ended resume.Ended) resume.Ended {
	mark := session.Run.Mark
	attempt, known := session.Tried(mark)
	if !known || !attempt.OwnKey || d.opts.Budget == nil {
		return ended
	}
	var cost resume.Cost
	counted := false
	if payer, ok := d.opts.Settings().Agent(session.Key.Agent).(payable); ok {
		var err error
		if cost, counted, err = payer.Cost(ctx, session); err != nil {
			d.logOf(session.Key).Warn("the cost of a resume with your own key could not be read: all that it was allowed to cost counts as spent", "err", err)
		}
	}
	ended.Unpaid = d.opts.Budget.Commit(session, mark, cost, counted, ended.Outcome == resume.Failed)
	if ended.Unpaid != "" { // what the run wrote must not count as the work of somebody else later
		if err := d.opts.Transcripts.ReadNew(ctx, d.located(session)); err != nil && ctx.Err() == nil {
			d.logOf(session.Key).Warn("the transcript could not be read again", "err", err)
		}
	}
	return ended
}
