package deliver

import (
	"context"
	"errors"

	"resumed/internal/agent"
	"resumed/internal/lease"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// delivery is one resume that is being delivered. The gates fill it in.
type delivery struct {
	*Deliverer
	session  resume.Session
	records  bool // store what is found out about the session; false: this is only a preview
	lease    *heldLease
	settings Settings
	agent    agent.Agent
	owner    *resume.Owner // the process that has the session open; nil: none
	way      way
}

// way is one way to send a prompt.
type way interface {
	// String says what is sent, as a phrase that follows "would have".
	String() string

	// preview fills in what would be sent, and returns why it would not be sent.
	preview(context.Context, *view.Plan) *resume.NotSent

	// ready returns why the prompt cannot be sent now. It changes nothing.
	ready(context.Context) *resume.NotSent

	// send sends the prompt. It returns nil if that was done, else the event to apply instead.
	send(context.Context) resume.Event

	// confirm returns the result, or nil if the daemon stops first: then the next daemon finds out.
	confirm(context.Context) resume.Event
}

// gate returns why a resume is not sent; nil: the gate lets it through.
type gate func(*delivery, context.Context) *resume.NotSent

func (v *delivery) pass(ctx context.Context, gates []gate) *resume.NotSent {
	for _, gate := range gates {
		if notSent := gate(v, ctx); notSent != nil {
			return notSent
		}
	}
	return nil
}

// carryOut sends a resume that passes its gates, and returns its result; nil if the daemon stops first.
func (v *delivery) carryOut(ctx context.Context, gates []gate) resume.Event {
	if notSent := v.pass(ctx, gates); notSent != nil {
		return notSent
	}
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

// takeLease takes the session's lease for this daemon. A dry run sends nothing and takes no lease.
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

func (v *delivery) releaseLease(ctx context.Context) {
	if v.lease == nil {
		return
	}
	if err := v.leases.release(ctx, v.session.Key, v.lease); err != nil {
		v.logOf(v.session.Key).Warn("a lease could not be released", "err", err)
	}
}

// askHosts takes the lease among hosts, if other hosts may continue the session too.
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

// confirmHosts confirms the lease among hosts directly before the prompt is sent: the steps before may
// take longer than that lease is valid.
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

// claim stores that the prompt may have been handed over, and confirms that no other host has the session. A
// zero process is the one that has the session open.
func (v *delivery) claim(ctx context.Context, to resume.Process) *resume.NotSent {
	if to.PID == 0 && v.owner != nil {
		to.PID = v.owner.PID
	}
	mark := v.session.Run.Mark
	now, err := v.opts.Engine.Apply(ctx, v.session.Key, resume.Started{Mark: mark, Process: to, Unverifiable: true})
	if err != nil || now.State != resume.Resuming || now.Run == nil || now.Run.Mark != mark {
		return withdrawn
	}
	v.session.Run = now.Run
	if notSent := v.claimIsOnDisk(ctx); notSent != nil {
		return notSent
	}
	// Not ctx: if the daemon stopped now, it would be unknown that nothing was sent.
	return v.confirmHosts(context.WithoutCancel(ctx))
}

const notOnDisk = "the claim could not be written to disk: "

// claimIsOnDisk runs before anything is sent: a claim that a crash undoes would be made twice.
func (v *delivery) claimIsOnDisk(ctx context.Context) *resume.NotSent {
	if err := v.opts.Sync(ctx, v.session.Key); err != nil {
		return &resume.NotSent{Why: notOnDisk + err.Error(), Owner: v.owner}
	}
	return nil
}
