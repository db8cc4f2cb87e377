package deliver

import (
	"context"
	"time"

	"resumed/internal/resume"
)

const (
	// queuePatience is how long an agent may take to pick up a message that was
	// left for it, and to write it down.
	queuePatience = 30 * time.Second

	// handOverTimeout bounds a command that only hands a prompt over.
	handOverTimeout = time.Minute
)

// queue runs a command that leaves the prompt for the process that holds the
// session.
type queue struct{ command }

func (q *queue) send(ctx context.Context) (sent bool, instead resume.Event) {
	run, notSent := q.make(ctx)
	if notSent != nil {
		return false, *notSent
	}
	if ok, instead := q.claimOwner(ctx); !ok {
		return false, instead
	}
	run.Timeout, run.Bounds, run.Status = handOverTimeout, nil, "" // only the transcript tells what became of it
	process, err := q.machine.Start(*run)
	if err != nil {
		return false, cannotStart(err)
	}
	q.log.Info("handed over", "session", q.session.Key.ID, "agent", q.session.Key.Agent,
		"attempt", len(q.session.Attempts), "pid", process.Identity().PID, "output", run.Output)
	result := q.commands.await(ctx, run.Mark, process)
	switch {
	case ctx.Err() != nil:
		return false, nil // the next daemon looks for its trace
	case result.Err != nil:
		return false, unknown("the prompt could not be handed over: " + ending(result, run.Output).Err)
	}
	return true, nil
}

// confirm waits until the agent has written the prompt down.
func (q *queue) confirm(ctx context.Context) resume.Event {
	return q.appears(ctx, queuePatience, "the prompt was queued")
}
