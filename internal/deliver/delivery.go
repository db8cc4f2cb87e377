package deliver

import (
	"context"
	"errors"

	"resumed/internal/agent"
	"resumed/internal/lease"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// delivery is one resume on its way. The gates fill it in.
type delivery struct {
	*Deliverer
	session  resume.Session
	records  bool // what is seen on the way is noted with the session; false: it is only a preview
	lease    *heldLease
	settings Settings
	agent    agent.Agent
	owner    *resume.Owner // the process that has the session open; nil: none
	most     float64       // what it may cost, if it has the user's own key; 0: it has not
	way      way
}

// way is one way to send a prompt.
type way interface {
	// String says what is sent, in words that follow "would have".
	String() string

	// preview shows what would be sent, and returns why it would not.
	preview(context.Context, *view.Plan) *resume.NotSent

	// ready says why it cannot be sent now. It only looks.
	ready(context.Context) *resume.NotSent

	// send sends it. It returns nil if that was done, else what to report instead.
	send(context.Context) resume.Event

	// confirm returns what became of it, or nil if the daemon stops
	// first: the next one finds out.
	confirm(context.Context) resume.Event
}

// gate says why a resume is not sent; nil: it may pass.
type gate func(*delivery, context.Context) *resume.NotSent

// pass asks the gates in their order, up to the first that refuses.
func (v *delivery) pass(ctx context.Context, gates []gate) *resume.NotSent {
	for _, gate := range gates {
		if notSent := gate(v, ctx); notSent != nil {
			return notSent
		}
	}
	return nil
}

// carryOut sends a resume that has passed its gates, and returns what became of it; nil if the daemon stops first.
func (v *delivery) carryOut(ctx context.Context) resume.Event {
	if notSent := v.way.ready(ctx); notSent != nil {
		return notSent
	}
	if v.opts.DryRun {
		return &resume.NotSent{Why: "dry run: would have " + v.way.String(), Then: resume.Park, Owner: v.owner}
	}
	if instead := v.way.send(ctx); instead != nil {
		return instead
	}
	return v.way.confirm(ctx)
}

// takeLease makes this daemon the one that looks after the session. A dry run sends nothing and takes no lease.
func (v *delivery) takeLease(context.Context) *resume.NotSent {
	if v.opts.DryRun {
		return nil
	}
	held, err := v.leases.take(v.session.Key)
	if other, ok := errors.AsType[*lease.HeldError](err); ok {
		return tryAgain(other.Error())
	}
	if err != nil {
		return tryAgain("cannot tell whether another program looks after the session: " + err.Error())
	}
	v.lease = held
	return nil
}

// releaseLease gives the lease back, if there is one.
func (v *delivery) releaseLease(ctx context.Context) {
	if v.lease == nil {
		return
	}
	if err := v.leases.release(ctx, v.session.Key, v.lease); err != nil {
		v.logOf(v.session.Key).Warn("a lease could not be released", "err", err)
	}
}

// askHosts makes sure that no other host looks after a session that others may
// continue as well.
func (v *delivery) askHosts(ctx context.Context) *resume.NotSent {
	if v.lease == nil || v.opts.HostLease == nil {
		return nil
	}
	v.lease.mu.Lock()
	defer v.lease.mu.Unlock()
	if v.lease.hosts != nil {
		return nil
	}
	hosts, notSent := v.opts.HostLease(ctx, v.session)
	v.lease.hosts = hosts
	return notSent
}

// confirmHosts makes sure of it once more. It is the last thing that is
// done before the prompt is sent: what is done before may take longer than the lease of the hosts is valid.
func (v *delivery) confirmHosts(ctx context.Context) *resume.NotSent {
	v.lease.mu.Lock()
	defer v.lease.mu.Unlock()
	if v.lease.hosts == nil {
		return nil
	}
	if err := v.lease.hosts.Confirm(ctx); err != nil {
		return &resume.NotSent{Why: "cannot tell whether another machine looks after the session: " + err.Error(), Owner: v.owner}
	}
	return nil
}

// claim stores that the prompt may have been handed to the process before
// it is, and makes sure that no other host does.
func (v *delivery) claim(ctx context.Context, to resume.Process) *resume.NotSent {
	mark := v.session.Run.Mark
	now, err := v.opts.Engine.Apply(ctx, v.session.Key, resume.Started{Mark: mark, Process: to, Unverifiable: true})
	if err != nil || now.State != resume.Resuming || now.Run == nil || now.Run.Mark != mark {
		return withdrawn
	}
	v.session.Run = now.Run
	if notSent := v.claimIsOnDisk(ctx); notSent != nil {
		return notSent
	}
	// Not ctx: if the daemon stops now, nobody could tell that nothing was sent.
	return v.confirmHosts(context.WithoutCancel(ctx))
}

// claimOwner is claim for the process that has the session open.
func (v *delivery) claimOwner(ctx context.Context) *resume.NotSent {
	var to resume.Process
	if v.owner != nil {
		to.PID = v.owner.PID
	}
	return v.claim(ctx, to)
}

const notOnDisk = "the claim could not be written to disk: "

// claimIsOnDisk is asked before anything is sent: a claim that a crash can undo would be made a second time.
func (v *delivery) claimIsOnDisk(ctx context.Context) *resume.NotSent {
	if err := v.opts.Sync(ctx, v.session.Key); err != nil {
		return &resume.NotSent{Why: notOnDisk + err.Error(), Owner: v.owner}
	}
	return nil
}
