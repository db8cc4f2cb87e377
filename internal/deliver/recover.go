package deliver

import (
	"cmp"
	"context"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// Recover finds out what became of the resumes that an earlier daemon began. A
// living command is adopted. Of one that is gone the transcript tells, so it is
// read first, and what the command left behind.
func (d *Deliverer) Recover(ctx context.Context, sessions []resume.Session) error {
	var each sync.WaitGroup
	defer each.Wait()
	for _, s := range sessions {
		if s.Run == nil {
			continue
		}
		if process, alive := d.commandOf(s); alive && !s.Run.Unverifiable {
			each.Go(func() { d.adopt(ctx, s, process) })
		} else {
			each.Go(func() { d.conclude(ctx, s) })
		}
	}
	return nil
}

// conclude finds out what became of a resume whose command is gone. One that was
// begun counts, however it ended and whether or not it left a trace: what it did
// must not be done twice. Only a claim that was never begun took no effect, and is
// sent again at no cost.
func (d *Deliverer) conclude(ctx context.Context, s resume.Session) {
	if d.opts.Transcripts.Await(ctx, s.Key.Agent) != nil {
		return // the daemon stops
	}
	if s.Run.Unverifiable {
		d.concludeUnverifiable(ctx, s)
		return
	}
	left := d.machine.Left(d.shelves.status(s))
	ended := d.ended(ctx, s, left.Result(), d.shelves.output(s))
	if begun := left.Began || s.Run.Process.PID != 0 || ended.Outcome == resume.Denied; !begun {
		d.log.Info("a resume was never begun and is forgotten", "session", s.Key.ID, "agent", s.Key.Agent)
		if d.opts.Purse != nil {
			d.opts.Purse.Return(s.Run.Mark)
		}
		d.apply(ctx, s.Key, resume.Lost{Mark: s.Run.Mark})
		return
	}
	d.log.Info("a resume ended while no daemon ran", "session", s.Key.ID, "agent", s.Key.Agent, "exit_known", left.Ended)
	d.report(ctx, s, d.settle(ctx, s, ended))
}

// beginPatience is how long after the claim a command begins at the latest.
const beginPatience = 5 * time.Minute

// commandOf returns the living command of a resume that an earlier daemon began.
// What it left behind carries its mark too, so the mark alone tells only where
// the daemon ended before it knew more. A command whose environment cannot be
// read, or was emptied (sudo, env -i), is known by when it began: numbers of
// processes come again after a restart of the machine.
func (d *Deliverer) commandOf(s resume.Session) (Process, bool) {
	attempt, _ := s.Tried(s.Run.Mark)
	if !d.machine.Sees() { // whatever answers to its number may be it, and is not joined
		left := d.machine.Left(d.shelves.status(s))
		if left.Ended {
			return nil, false
		}
		return d.machine.Answering(cmp.Or(s.Run.Process.PID, left.PID), attempt.StartedAt)
	}
	marked, alive := d.machine.Find(s.Run.Mark)
	if s.Run.Process.Start == 0 {
		return marked, alive
	}
	process, known := d.machine.Adopt(s.Run.Process)
	if !known || alive {
		return process, known
	}
	late := process.Began().Sub(attempt.StartedAt)
	return process, -time.Second < late && late < beginPatience
}

func (d *Deliverer) adopt(ctx context.Context, s resume.Session, process Process) {
	held, release, notSent := d.lease(ctx, s.Key)
	defer release()
	if notSent != nil {
		d.log.Warn("a resume that runs has no lease", "session", s.Key.ID, "agent", s.Key.Agent, "why", notSent.Why)
	} else if d.opts.Hold != nil {
		insisting, stop := context.WithCancel(ctx)
		defer stop()
		go d.insist(insisting, held, s)
	}
	output := d.shelves.output(s)
	process.Bind(runner.Command{Mark: s.Run.Mark, Output: output, Status: d.shelves.status(s), Bounds: d.bounds, Signs: d.signsOfLife(s)})
	d.log.Info("a resume of the daemon before still runs", "session", s.Key.ID, "agent", s.Key.Agent, "pid", process.Identity().PID)
	d.apply(ctx, s.Key, resume.Started{Mark: s.Run.Mark, Process: process.Identity()})
	d.report(ctx, s, d.follow(ctx, s, process, output))
}

// concludeUnverifiable finds out what became of a prompt that an earlier daemon was
// handing over. Only the transcript can tell, or the queue that it waits in; it
// is never handed over again. A command that hands it over and still runs is waited for: a person
// who is called may want the next one at once.
func (d *Deliverer) concludeUnverifiable(ctx context.Context, s resume.Session) {
	a := d.opts.Settings().Agent(s.Key.Agent)
	process, alive := d.machine.Find(s.Run.Mark)
	switch {
	case a != nil && alive:
		d.report(ctx, s, d.handing(ctx, a, s, process))
		return
	case a != nil && (arrived(ctx, a, s) || d.queued(ctx, a, s)):
		d.report(ctx, s, resume.Ended{Outcome: resume.Delivered})
		return
	}
	d.report(ctx, s, unknown(
		"resumed ended while it handed over the prompt, and the transcript does not tell whether it was sent"))
}

// handing waits for a command that hands a prompt over, and for the prompt.
func (d *Deliverer) handing(ctx context.Context, a agent.Agent, s resume.Session, process Process) resume.Event {
	process.Bind(runner.Command{Mark: s.Run.Mark, Output: d.shelves.output(s), Timeout: handOverTimeout})
	d.commands.await(ctx, s.Run.Mark, process)
	if ctx.Err() != nil {
		return nil
	}
	return d.appears(ctx, a, s, queuePatience, "the prompt was queued")
}
