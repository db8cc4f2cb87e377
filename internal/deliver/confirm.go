package deliver

import (
	"context"
	"fmt"
	"slices"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// appears waits until the transcript shows the prompt; otherwise lost is the result. If the daemon stops
// first, the next one looks for it.
func (d *Deliverer) appears(ctx context.Context, a agent.Agent, s resume.Session, patience time.Duration, lost string) resume.Event {
	for deadline := time.Now().Add(patience); ctx.Err() == nil; pause(ctx, lookPause) {
		switch {
		case arrived(ctx, a, s):
			return d.delivered(ctx, s)
		case time.Now().Before(deadline):
		case d.isQueued(ctx, a, s):
			return resume.Ended{Outcome: resume.Delivered}
		default:
			return unknown(lost)
		}
	}
	return nil
}

func notShown(done string, patience time.Duration) string {
	return fmt.Sprintf("%s, and did not appear in the transcript within %s", done, patience)
}

// delivered reads the transcript first: the engine must know it before it waits for the session to move.
func (d *Deliverer) delivered(ctx context.Context, s resume.Session) resume.Event {
	_ = d.opts.Transcripts.ReadNew(ctx, s) // what cannot be read now is read later by the watcher
	return resume.Ended{Outcome: resume.Delivered}
}

// isQueued reports whether the agent has the prompt in its queue: then it must not be sent again.
func (d *Deliverer) isQueued(ctx context.Context, a agent.Planner, s resume.Session) bool {
	waits, err := a.HasPendingPrompt(ctx, s)
	if err != nil {
		d.logOf(s.Key).Warn("cannot look for a queued prompt", "err", err)
	}
	return waits
}

// arrived reports whether the transcript shows a prompt, or its result, since the resume was claimed.
// Only what is behind the end of the transcript at the claim counts: the prompt of an earlier resume
// may have appeared late.
func arrived(ctx context.Context, a agent.Agent, s resume.Session) bool {
	if len(s.Attempts) == 0 || s.Run == nil {
		return false
	}
	const slack = time.Second // some agents write whole seconds
	since := s.Attempts[len(s.Attempts)-1].StartedAt.Add(-slack)
	last, found, err := lastOf(ctx, a, s)
	if err != nil || !found || last.Key != s.Key || last.Pos.Offset <= s.Run.Behind.Offset {
		return false
	}
	_, cancelled := last.Event.(resume.Cancelled)
	at := resume.When(last.Event)
	return !cancelled && at.After(s.LimitedAt) && !at.Before(since)
}

func lastOf(ctx context.Context, a agent.Agent, s resume.Session) (last agent.Evidence, found bool, err error) {
	switch a := a.(type) {
	case agent.FileAgent:
		last, found, err = agent.Last(ctx, a, agent.SourceOf(a, s.Transcript), s.Transcript)
		last.Pos.Offset = last.Offset + 1 // a line that begins where another one ended comes after it
		return last, found, err
	case agent.DatabaseAgent:
		all, err := a.Evidence(s.Transcript)
		if i := slices.IndexFunc(all, func(e agent.Evidence) bool { return e.Key == s.Key }); i >= 0 {
			return all[i], true, nil
		}
		return agent.Evidence{}, false, err
	}
	return agent.Evidence{}, false, nil
}

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
		notSent = q.claim(ctx, resume.Process{})
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

func (q *queue) confirm(ctx context.Context) resume.Event {
	return q.appears(ctx, q.agent, q.session, queuePatience, wasQueued)
}

var wasQueued = notShown("the prompt was queued", queuePatience)

func handOverBounds() (timeout, stall time.Duration) { return handOverTimeout, 0 }
