package deliver

import (
	"context"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// delivery is one resume on its way.
type delivery struct {
	*Deliverer
	session resume.Session
	agent   agent.Agent
	owner   *resume.Owner // who is given the prompt, where somebody holds the session
	way     way
	held    *heldLease
	most    float64 // what it may cost, where it has the user's own key; 0: it has not
}

// way is one way to send a prompt.
type way interface {
	// String says what is sent, in words that follow "would have".
	String() string

	// ready says why it cannot be sent now, or nothing. It only looks.
	ready(context.Context) *resume.NotSent

	// send sends it, right after confirmHold. Where that came to nothing it returns
	// false and what to report; nothing at all where the resume was withdrawn, or the
	// daemon stops.
	send(context.Context) (sent bool, instead resume.Event)

	// confirm returns what became of it, or nothing where the daemon stops
	// first: the next one finds out.
	confirm(context.Context) resume.Event
}

// carryOut sends what is due, and returns what became of it; nothing where the
// resume was withdrawn, or the daemon stops.
func (v *delivery) carryOut(ctx context.Context) resume.Event {
	if notSent := v.way.ready(ctx); notSent != nil {
		return *notSent
	}
	if v.opts.DryRun {
		return resume.NotSent{Why: "dry run: would have " + v.way.String(), Then: resume.Park, Owner: v.owner}
	}
	if sent, instead := v.way.send(ctx); !sent {
		return instead
	}
	return v.way.confirm(ctx)
}

// claim writes to disk that the prompt may have been handed to the process before
// it is, and makes sure that no other host does. It returns false and no reason where
// the resume was withdrawn.
func (v *delivery) claim(ctx context.Context, to resume.Process) (ok bool, notSent *resume.NotSent) {
	mark := v.session.Run.Mark
	now, err := v.opts.Engine.Apply(ctx, v.session.Key, resume.Started{Mark: mark, Process: to, Unverifiable: true})
	if err != nil || now.State != resume.Resuming || now.Run == nil || now.Run.Mark != mark {
		return false, nil
	}
	v.session.Run = now.Run
	if err := v.opts.Sync(ctx, v.session.Key); err != nil {
		return false, &resume.NotSent{Why: notOnDisk + err.Error(), Owner: v.owner}
	}
	// Not ctx: when the daemon stops now, nobody could tell that nothing was sent.
	notSent = v.confirmHold(context.WithoutCancel(ctx))
	return notSent == nil, notSent
}

const notOnDisk = "the claim could not be written to disk: "

// claimOwner is claim for the owner of the session.
func (v *delivery) claimOwner(ctx context.Context) (ok bool, instead resume.Event) {
	var to resume.Process
	if v.owner != nil {
		to.PID = v.owner.PID
	}
	ok, notSent := v.claim(ctx, to)
	return ok, event(notSent)
}

// event makes an event of a reason, where there is one.
func event(notSent *resume.NotSent) resume.Event {
	if notSent == nil {
		return nil
	}
	return *notSent
}
