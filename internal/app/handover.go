package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

const (
	// queuePatience is how long an agent may take to pick up a message that was
	// left for it, and to write it down.
	queuePatience = 30 * time.Second

	// handOverTimeout bounds a command that only hands a prompt over.
	handOverTimeout = time.Minute
)

// claim writes to disk that the prompt may have been handed to the process
// before it is. It returns false and no reason where the resume was withdrawn.
func (d *daemon) claim(ctx context.Context, session resume.Session, to resume.Process) (ok bool, held *resume.NotSent) {
	mark := session.Run.Mark
	now, err := d.engine.Apply(ctx, session.Key, resume.Started{Mark: mark, Process: to, Unverifiable: true})
	if err != nil || now.State != resume.Resuming || now.Run == nil || now.Run.Mark != mark {
		return false, nil
	}
	if err := d.store.Sync(ctx); err != nil {
		return false, &resume.NotSent{Why: "the claim could not be written to disk: " + err.Error()}
	}
	return true, nil
}

// claimFor is claim for the owner of the session, and reports why it failed.
func (d *daemon) claimFor(ctx context.Context, act *sending) bool {
	var to resume.Process
	if act.owner != nil {
		to.PID = act.owner.PID
	}
	ok, held := d.claim(ctx, act.session, to)
	if held != nil {
		held.Mark, held.Owner = act.session.Run.Mark, act.owner
		d.tell(ctx, act.session.Key, *held)
	}
	return ok
}

// handOver runs a command that leaves the prompt for the process that holds the
// session, and reports on it.
func (d *daemon) handOver(ctx context.Context, act *sending) {
	if !d.claimFor(ctx, act) {
		return
	}
	session, command := act.session, act.command
	mark := session.Run.Mark
	command.Timeout, command.Bounds = handOverTimeout, nil
	process, err := runner.Start(*command)
	if err != nil {
		d.tell(ctx, session.Key, cannotStart(mark, err))
		return
	}
	d.log.Info("handed over", "session", session.Key.ID, "agent", session.Key.Agent,
		"attempt", len(session.Attempts), "pid", process.PID, "output", command.Output)
	result := d.await(ctx, mark, process)
	switch {
	case ctx.Err() != nil: // the next daemon looks for its trace
	case result.Err != nil:
		d.tell(ctx, session.Key, unknown(mark, "the prompt could not be handed over: "+ending(mark, result, command.Output).Err))
	default:
		d.confirm(ctx, act, queuePatience, "the prompt was queued")
	}
}

// send sends a message to what holds the session, and reports on it.
func (d *daemon) send(ctx context.Context, act *sending) {
	if !d.claimFor(ctx, act) {
		return
	}
	session, mark := act.session, act.session.Run.Mark
	// Not ctx: a request that was begun is answered, also when the daemon stops.
	err := act.message.Do(context.WithoutCancel(ctx))
	notSent, nothing := errors.AsType[*agent.NotSentError](err)
	switch {
	case nothing:
		d.tell(ctx, session.Key, resume.NotSent{Mark: mark, Why: notSent.Why, Park: notSent.Park, Owner: act.owner})
	case err != nil:
		d.tell(ctx, session.Key, unknown(mark, "the prompt was sent, and not answered as it should be: "+err.Error()))
	default:
		d.log.Info("sent", "session", session.Key.ID, "agent", session.Key.Agent,
			"attempt", len(session.Attempts), "to", act.message.To)
		_ = d.look(ctx, session) // what it says is to be known before the wait for movement begins
		d.tell(ctx, session.Key, resume.Ended{Mark: mark, Outcome: resume.Delivered})
	}
}

// confirm waits until the agent has written the prompt down, and reports on it.
// Where it does not, nobody knows what became of it. When the daemon stops the
// next one looks for its trace.
func (d *daemon) confirm(ctx context.Context, act *sending, patience time.Duration, done string) {
	session, mark := act.session, act.session.Run.Mark
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause(ctx, lookPause) {
		if ctx.Err() != nil {
			return
		}
		if arrived(act.agent, session) {
			// What else it says is to be known before the wait for movement begins.
			_ = d.look(ctx, session)
			d.tell(ctx, session.Key, resume.Ended{Mark: mark, Outcome: resume.Delivered})
			return
		}
	}
	switch {
	case ctx.Err() != nil:
	case d.queued(ctx, act.agent, session):
		d.tell(ctx, session.Key, resume.Ended{Mark: mark, Outcome: resume.Delivered})
	default:
		d.tell(ctx, session.Key, unknown(mark, fmt.Sprintf("%s, and did not appear in the transcript within %s", done, patience)))
	}
}

// queued reports whether the prompt waits to be taken: then it is safe, and
// nobody sends it again.
func (d *daemon) queued(ctx context.Context, a agent.Agent, s resume.Session) bool {
	q, ok := a.(agent.Queuing)
	if !ok {
		return false
	}
	waits, err := q.Queued(ctx, s)
	if err != nil {
		d.log.Warn("cannot look for a queued prompt", "session", s.Key.ID, "agent", s.Key.Agent, "err", err)
	}
	return waits
}

// unknown is a resume of which nobody knows what became.
func unknown(mark, why string) resume.Ended {
	return resume.Ended{Mark: mark, Outcome: resume.Unknown, Err: why + "; look at the session before you retry"}
}

// recoverUnproved finds out what became of a prompt that an earlier daemon was
// handing over. Only the transcript can tell, or the queue that it waits in; it
// is never handed over again.
func (d *daemon) recoverUnproved(ctx context.Context, s resume.Session) {
	if a := d.agentOf(s.Key.Agent); a != nil && (arrived(a, s) || d.queued(ctx, a, s)) {
		d.tell(ctx, s.Key, resume.Ended{Mark: s.Run.Mark, Outcome: resume.Delivered})
		return
	}
	d.tell(ctx, s.Key, unknown(s.Run.Mark,
		"resumed ended while it handed the prompt over, and the transcript does not tell whether it was sent"))
}

// arrived reports whether the transcript shows a prompt, or what came of one,
// since the resume was claimed.
func arrived(a agent.Agent, s resume.Session) bool {
	if len(s.Attempts) == 0 {
		return false
	}
	const slack = time.Second // some agents write whole seconds
	since := s.Attempts[len(s.Attempts)-1].StartedAt.Add(-slack)
	last, found, err := lastOf(a, s)
	if err != nil || !found || last.Key != s.Key {
		return false
	}
	var at time.Time
	switch ev := last.Event.(type) {
	case resume.Prompted:
		at = ev.At
	case resume.Progressed:
		at = ev.At
	case resume.Limited:
		at = ev.At
	}
	return at.After(s.LimitedAt) && !at.Before(since)
}

// lastOf returns the last thing that is known of the session.
func lastOf(a agent.Agent, s resume.Session) (last agent.Evidence, found bool, err error) {
	follower, ok := a.(agent.Follower)
	if !ok {
		return agent.Last(a, agent.SourceOf(a, s.Transcript), s.Transcript)
	}
	all, err := follower.Evidence(s.Transcript)
	for _, e := range all {
		if e.Key == s.Key {
			return e, true, nil
		}
	}
	return agent.Evidence{}, false, err
}
