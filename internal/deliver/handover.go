package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// message sends the prompt to the process that has the session open, with a request of the agent's own
// protocol.
type message struct {
	*delivery
	plan *agent.Sending
}

func (m *message) String() string { return fmt.Sprintf("sent %q to %s", m.plan.Text, m.plan.To) }

func (m *message) preview(_ context.Context, plan *view.Plan) *resume.NotSent {
	plan.Does = fmt.Sprintf("%q is sent to %s", m.plan.Text, m.plan.To)
	return nil
}

func (m *message) ready(context.Context) *resume.NotSent { return nil }

func (m *message) send(ctx context.Context) resume.Event {
	if notSent := m.claimOwner(ctx); notSent != nil {
		return notSent
	}
	// Not ctx: a request that was begun is completed, even if the daemon stops.
	err := m.plan.Do(context.WithoutCancel(ctx))
	if refusal, ok := errors.AsType[*agent.NotSentError](err); ok {
		return leaving(&agent.Leave{Why: refusal.Why, Park: refusal.Park}, m.owner)
	}
	if err != nil {
		return unknown("the prompt was sent, but the answer was not the expected one: " + err.Error())
	}
	m.logOf(m.session.Key).Info("sent", "attempt", len(m.session.Attempts), "to", m.plan.To)
	return nil
}

// confirm has nothing to wait for: the answer to the request confirmed it.
func (m *message) confirm(ctx context.Context) resume.Event { return m.delivered(ctx, m.session) }

const (
	// queuePatience is how long an agent may take to read a queued message and to record it in the
	// transcript.
	queuePatience = 30 * time.Second

	// handOverTimeout bounds a command that only hands over a prompt.
	handOverTimeout = time.Minute
)

// queue runs a command that puts the prompt into the queue of the process that has the session open.
type queue struct{ command }

func (q *queue) send(ctx context.Context) resume.Event {
	run, notSent := q.make(ctx)
	if notSent == nil {
		notSent = q.claimOwner(ctx)
	}
	if notSent != nil {
		return notSent
	}
	run.Bounds, run.Status = handOverBounds, "" // only the transcript shows the result
	process, err := q.machine.Start(*run)
	if err != nil {
		return cannotStart(err)
	}
	q.logOf(q.session.Key).Info("handed over", "attempt", len(q.session.Attempts), "pid", process.Identity().PID, "output", run.Output)
	result := q.await(ctx, run.Mark, process)
	switch {
	case ctx.Err() != nil:
		return withdrawn // the next daemon looks for the prompt in the transcript
	case result.Err != nil:
		return unknown("the prompt could not be handed over: " + ending(result, run.Output).Err)
	}
	return nil
}

// confirm waits until the transcript shows the prompt.
func (q *queue) confirm(ctx context.Context) resume.Event {
	return q.appears(ctx, q.agent, q.session, queuePatience, queued)
}

const queued = "the prompt was queued"

func handOverBounds() (timeout, stall time.Duration) { return handOverTimeout, 0 }
