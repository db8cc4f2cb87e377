package deliver

import (
	"context"
	"errors"
	"time"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/resume"
	"resumed/internal/terminal"
)

const (
	// nextHolderLook is the interval at which the owners of stopped sessions are checked.
	nextHolderLook = 10 * time.Second

	// decisionTime is how long after an error a process may take to show whether it continues by
	// itself.
	decisionTime = 1500 * time.Millisecond

	// questionDelay is how long a permission is asked for until that is reported: a person who sits
	// there answers sooner.
	questionDelay = 5 * time.Second

	// writeDelay is how long after a question an agent may write what came before it.
	writeDelay = time.Second
)

// lookAtHolders checks whether the owners of stopped sessions still run.
func (d *Deliverer) lookAtHolders(ctx context.Context) {
	ctx = process.WithSnapshot(ctx)
	for _, key := range d.tracker.allOpen() {
		session, err := d.opts.Engine.Session(ctx, key)
		a := d.opts.Settings().Agent(key.Agent)
		if err != nil || a == nil {
			continue
		}
		if session.Unattended() || session.Asks != "" {
			d.lookAtQuestion(ctx, a, session)
			continue
		}
		if session.Owner == nil {
			d.tracker.follow(session) // the owner was released just before saw was called
			continue
		}
		owner, err := a.Owner(ctx, session)
		switch {
		case err != nil: // a process that cannot be seen may still run
		case owner == nil:
			d.apply(ctx, key, resume.Released{Closed: d.closed(a, session), Cleared: left(ctx, a, session)})
		default:
			d.tracker.saw(key)
			d.reach(ctx, a, session, *owner)
		}
	}
}

// lookAtQuestion finds out whether a session asks for a permission while it works without a person.
func (d *Deliverer) lookAtQuestion(ctx context.Context, a agent.Agent, session resume.Session) {
	switch owner, asks, tells, err := asking(ctx, a, session); {
	case session.Asks == "" && (!tells || err == nil && owner == nil):
		d.tracker.rests(session.Key)
	case err != nil: // a process that cannot be seen may still ask
	case owner == nil:
		d.apply(ctx, session.Key, resume.Released{})
	case tells && asks == "" && session.Asks != "":
		d.apply(ctx, session.Key, resume.Answered{})
	case tells && asks != session.Asks:
		d.apply(ctx, session.Key, resume.Asked{For: asks, Owner: *owner})
	}
}

// asking returns the process that has the session open, and what it asks a person for. tells is false if the
// agent's processes do not say that.
func asking(ctx context.Context, a agent.Agent, session resume.Session) (owner *resume.Owner, asks string, tells bool, err error) {
	attendant, tells := a.(agent.QuestionReader)
	if tells {
		owner, asks, err = attendant.PendingQuestion(ctx, session)
	} else {
		owner, err = a.Owner(ctx, session)
	}
	return owner, asks, tells, err
}

// lookAtQuestions applies what hooks said that processes ask for, if nobody has answered for
// questionDelay. It returns when the next question has waited that long; nil: there is none.
func (d *Deliverer) lookAtQuestions(ctx context.Context) <-chan time.Time {
	due, next := d.tracker.takeQuestions(time.Now().Add(-questionDelay))
	for key, q := range due {
		session, err := d.opts.Engine.Session(ctx, key)
		a := d.opts.Settings().Agent(key.Agent)
		if err != nil || a == nil {
			continue
		}
		switch moved := resume.Later(session.MovedAt, session.PromptedAt).After(q.at.Add(writeDelay)); {
		case q.asks == "" && session.Asks != "":
			d.apply(ctx, key, resume.Answered{})
		case q.asks != "" && session.Asks == "" && !moved:
			d.ask(ctx, a, session, q.asks)
		}
	}
	if next.IsZero() {
		return nil
	}
	return time.After(time.Until(next.Add(questionDelay)))
}

// ask applies a question that a hook reported. If the agent's processes say themselves what they ask for, that counts.
func (d *Deliverer) ask(ctx context.Context, a agent.Agent, session resume.Session, asks string) {
	asked := resume.Asked{For: asks, Attended: true}
	if owner, what, tells, err := asking(ctx, a, session); err == nil && owner != nil {
		asked.Owner = *owner
		if tells {
			asked.For = what
		}
	}
	if asked.For != "" {
		d.apply(ctx, session.Key, asked)
	}
}

// left reports whether a person has left the session for an empty one, in the process that held it.
func left(ctx context.Context, a agent.Agent, session resume.Session) bool {
	attendant, tells := a.(agent.QuestionReader)
	return tells && attendant.UserLeft(ctx, session)
}

// closed reports whether a person has ended the process that had the session open, as far as can be
// known: the daemon saw it alive, and it was not killed. A process that ended while no daemon ran may
// have ended with the machine.
func (d *Deliverer) closed(a agent.OwnerFinder, session resume.Session) bool {
	owner := session.Owner
	return owner != nil && owner.Kind != resume.Headless && d.tracker.wasSeen(session.Key) && !a.Killed(session, *owner)
}

// reach stores whether the owner of a stopped session can be given a prompt, and reports whether that
// is known. If it cannot, a person should know it long before the session is due.
func (d *Deliverer) reach(ctx context.Context, a agent.Agent, session resume.Session, owner resume.Owner) bool {
	if session.State != resume.Waiting || session.Run != nil || owner.Kind == resume.Headless {
		return true
	}
	if time.Since(session.LimitedAt) < decisionTime {
		return false
	}
	settings := d.opts.Settings()
	why, known := d.unreached(ctx, a, session, owner, settings)
	if known && (session.Owner == nil || *session.Owner != owner || session.Unreached != why) {
		d.apply(ctx, session.Key, resume.Occupied{Owner: owner, Unreached: why, Tell: why != "" && settings.Live == Type})
		d.tracker.saw(session.Key)
	}
	return known
}

// unreached returns why the process cannot be given a prompt. It is not known while it may continue by itself.
func (d *Deliverer) unreached(ctx context.Context, a agent.Agent, session resume.Session, owner resume.Owner, settings Settings) (why string, known bool) {
	plan, barred, err := livePlan(ctx, a, session, owner, settings)
	switch {
	case err != nil:
		return "", false
	case plan.Skip != nil && !plan.Skip.Until.IsZero(): // it continues by itself
		return "", true
	case barred != "":
		return settings.outOfReach(owner, barred), true
	case plan.Skip != nil && plan.Skip.Tell:
		return plan.Skip.Why, true
	case plan.Skip != nil:
		return "", false
	case plan.Type == nil:
		return "", true
	}
	_, err = d.machine.Pane(ctx, plan.Type.Process)
	if refusal, ok := errors.AsType[*terminal.Refusal](err); ok && !refusal.Passing {
		return settings.outOfReach(owner, refusal.Advice(plan.Type.Program)), true
	}
	return d.tracker.blocked(session.Key), true
}
