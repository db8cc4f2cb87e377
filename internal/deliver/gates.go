package deliver

import (
	"context"
	"errors"
	"slices"
	"time"

	"resumed/internal/agent"
	"resumed/internal/lease"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/sanitize"
)

// What must be true before a session is continued. The gates are asked from top to bottom, and the
// first gate that refuses gives the reason.
var (
	// gatesOfClaim are asked first: with the lease, no other process continues the session while the
	// other gates are asked.
	gatesOfClaim = []gate{
		(*delivery).takeLease,
		(*delivery).askHosts,
		(*delivery).claimIsOnDisk,
	}

	// gatesOfWish check whether the session still has to be continued.
	gatesOfWish = []gate{
		(*delivery).execDidNotGiveUp,
		(*delivery).nobodyWentOn,
		(*delivery).isNotOverdue,
	}

	// gatesOfSession check whether the session may be continued, and how.
	gatesOfSession = []gate{
		(*delivery).agentIsConfigured,
		(*delivery).directoryIsAllowed,
		(*delivery).transcriptIsWatched,
		(*delivery).idIsPlain,
		(*delivery).filesAreTrusted,
		(*delivery).contextIsWarm,
		(*delivery).weekIsNotReserved,
		(*delivery).ownerIsKnown,
		(*delivery).userDidNotCloseIt,
		(*delivery).wayIsKnown,
	}

	gatesOfPreview = slices.Concat(gatesOfWish, gatesOfSession)
	gatesOfResume  = slices.Concat(gatesOfClaim, []gate{(*delivery).transcriptIsRead}, gatesOfPreview)

	// gatesOfTask are the gates of a task, which has no session yet.
	gatesOfTask = slices.Concat(gatesOfClaim, []gate{
		(*delivery).accountIsRead,
		(*delivery).isNotOverdue,
		(*delivery).agentIsConfigured,
		(*delivery).idIsPlain,
		(*delivery).startIsKnown,
	})
)

// transcriptIsRead reads what is new: a person may have continued or cancelled the session.
func (v *delivery) transcriptIsRead(ctx context.Context) *resume.NotSent {
	err := v.opts.Transcripts.ReadNew(ctx, v.located(v.session))
	if v.opts.Stopping() {
		return withdrawn // the next daemon finds the claim
	}
	if err != nil && ctx.Err() == nil {
		return tryAgain("the transcript could not be read again: " + err.Error())
	}
	notSent := v.refresh(ctx)
	v.session = v.located(v.session)
	return notSent
}

func (v *delivery) refresh(ctx context.Context) *resume.NotSent {
	now, err := v.opts.Engine.Session(ctx, v.session.Key)
	if err != nil || now.Run == nil || now.Run.Mark != v.session.Run.Mark {
		return withdrawn
	}
	v.session = now
	return nil
}

// execDidNotGiveUp refuses a session that `resumed exec` gave up on after it was stopped, unless a
// person has asked for a retry. What a person cancelled there is cancelled here.
func (v *delivery) execDidNotGiveUp(ctx context.Context) *resume.NotSent {
	note, ok := lease.LastNote(v.opts.LeaseDirs, v.session.Key.Agent, v.session.Key.ID)
	if !ok || note.At.Before(v.session.LimitedAt) || !v.session.RetryAskedAt.IsZero() {
		return nil
	}
	if note.Cancelled {
		if v.records {
			v.apply(ctx, v.session.Key, resume.Forget{})
		}
		return tryAgain("you have cancelled it in resumed exec")
	}
	return park("resumed exec gave up on it: " + sanitize.Short(note.Why, sanitize.Sentence))
}

// nobodyWentOn asks the engine, which also knows what was read just now, and before a restart.
func (v *delivery) nobodyWentOn(ctx context.Context) *resume.NotSent {
	why, err := v.opts.Engine.Superseded(ctx, v.session.Key)
	if err != nil {
		return withdrawn // the daemon stops
	}
	return parkIf(why)
}

func (v *delivery) isNotOverdue(context.Context) *resume.NotSent {
	return parkIf(v.session.Overdue(time.Now()))
}

func (v *delivery) agentIsConfigured(context.Context) *resume.NotSent {
	v.settings = v.opts.Settings()
	v.agent = v.settings.Agent(v.session.Key.Agent)
	if v.agent == nil {
		return tryAgain("the agent " + v.session.Key.Agent + " is not configured or switched off")
	}
	return nil
}

func (v *delivery) directoryIsAllowed(context.Context) *resume.NotSent {
	return v.settings.excludes(v.session.Cwd)
}

// transcriptIsWatched refuses a transcript that is in no configured root: the root determines the account.
func (v *delivery) transcriptIsWatched(context.Context) *resume.NotSent {
	if agent.Watches(v.agent, v.session.Transcript) {
		return nil
	}
	return tryAgain("its transcript " + v.session.Transcript + " is in none of the configured roots")
}

// idIsPlain checks that the id cannot be parsed as an option or a path.
func (v *delivery) idIsPlain(context.Context) *resume.NotSent {
	if err := runner.CheckID(v.session.Key.ID); err != nil {
		return park(err.Error())
	}
	return nil
}

func (v *delivery) filesAreTrusted(context.Context) *resume.NotSent {
	return v.settings.distrusts(v.session.Transcript, v.session.Cwd)
}

func (v *delivery) contextIsWarm(ctx context.Context) *resume.NotSent {
	if v.records {
		v.session = v.countSubagents(ctx, v.agent, v.measure(ctx, v.agent, v.session, true))
	}
	return parkIf(v.settings.Rules.TooCold(v.session, time.Now()))
}

func (v *delivery) weekIsNotReserved(context.Context) *resume.NotSent {
	if why, _ := v.settings.Rules.Reserved(v.session, time.Now()); why != "" {
		return &resume.NotSent{Why: why, Then: resume.KeepForPeople}
	}
	return nil
}

func (v *delivery) ownerIsKnown(ctx context.Context) (notSent *resume.NotSent) {
	var err error
	if v.owner, err = v.agent.Owner(ctx, v.session); err == nil {
		return nil
	}
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		if cause == agent.ErrUnseen { //nolint:errorlint // an error that says itself what helps stays
			err = cause // how processes were looked up does not help a person
		}
	}
	return &resume.NotSent{Why: "cannot tell whether another process has the session open: " + err.Error(), Then: tellIfUnseen(err)}
}

// tellIfUnseen reports to a person that processes cannot be seen: only a person can change that.
func tellIfUnseen(err error) resume.NextStep {
	if errors.Is(err, agent.ErrUnseen) {
		return resume.Tell
	}
	return resume.TryAgain
}

func (v *delivery) userDidNotCloseIt(ctx context.Context) *resume.NotSent {
	if v.owner == nil && v.session.RetryAskedAt.IsZero() && left(ctx, v.agent, v.session) {
		return &resume.NotSent{Why: "you have left it with /clear", Then: resume.UserLeft}
	}
	if v.owner == nil && v.records && v.settings.leavesClosed() && v.session.RetryAskedAt.IsZero() && v.closed(v.agent, v.session) {
		return &resume.NotSent{Why: "you have closed it", Then: resume.UserClosed}
	}
	return nil
}

// wayIsKnown asks the agent how the session is continued; if a process has it open, in that process.
func (v *delivery) wayIsKnown(ctx context.Context) *resume.NotSent {
	if v.owner != nil && v.records {
		v.session = v.identify(ctx, v.agent, v.session, v.owner)
		v.tracker.saw(v.session.Key)
	} else {
		v.session, _ = v.identifyWriter(ctx, v.agent, v.session)
		v.session = v.recorded(ctx, v.session)
	}
	var plan agent.Plan
	var err error
	if v.owner != nil {
		plan, _, err = livePlan(ctx, v.agent, v.session, *v.owner, v.settings)
	} else {
		plan, err = v.agent.Plan(ctx, v.session, words(ctx, v.agent, v.session, v.settings))
	}
	if err != nil {
		return &resume.NotSent{Why: err.Error(), Owner: v.owner, Then: tellIfUnseen(err)}
	}
	if notSent := v.startWasSeen(ctx, plan); notSent != nil {
		return notSent
	}
	if notSent := v.programIsTrusted(plan); notSent != nil {
		return notSent
	}
	return v.choose(plan)
}

func (v *delivery) choose(plan agent.Plan) *resume.NotSent {
	switch {
	case plan.Skip != nil:
		notSent := leaving(plan.Skip, v.owner)
		if v.owner != nil && notSent.Then == resume.Tell {
			notSent.Then = resume.TellUnreached
		}
		return notSent
	case plan.Type != nil:
		v.way = &typing{delivery: v, plan: plan.Type}
	case plan.Run.Unverifiable:
		v.way = &queue{command{delivery: v, plan: plan.Run}}
	default:
		v.way = &command{delivery: v, plan: plan.Run}
	}
	return nil
}

// accountIsRead waits until the agent's transcripts are read: only then the account's limits are known.
// The first task of an agent was due before that, so it is recalled and becomes due again.
func (v *delivery) accountIsRead(ctx context.Context) *resume.NotSent {
	_, seen := v.tracker.agentsSeen.LoadOrStore(v.session.Key.Agent, true)
	if v.opts.Transcripts.Await(ctx, v.session.Key.Agent) != nil || v.opts.Stopping() {
		return withdrawn // the next daemon finds the claim
	}
	if !seen {
		v.apply(ctx, v.session.Key, resume.Recalled{})
		return withdrawn
	}
	return v.refresh(ctx)
}

func (v *delivery) startIsKnown(context.Context) *resume.NotSent {
	starter, ok := v.agent.(agent.Starter)
	if !ok {
		return park("resumed cannot start a session of " + v.session.Key.Agent)
	}
	plan, err := starter.Start(v.session)
	if err != nil {
		return tryAgain(err.Error())
	}
	return v.choose(plan)
}
