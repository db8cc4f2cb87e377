package deliver

import (
	"cmp"
	"context"
	"sync"
	"time"

	"resumed/internal/resume"
	"resumed/internal/runner"
)

// Recover finds out what became of the resumes that an earlier daemon began. A
// living command is adopted. What became of one that is gone is in the transcript, which is
// read first, and in what the command left behind.
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
		d.report(ctx, s, d.concludeHandOver(ctx, s))
		return
	}
	left := d.machine.Left(d.files.Status(s.Key, s.Run.N))
	ended := d.ended(ctx, s, left.Result(), d.files.Output(s.Key, s.Run.N))
	if begun := left.Began || s.Run.Process.PID != 0 || ended.Outcome == resume.Denied; !begun {
		d.logOf(s.Key).Info("a resume was never begun and is forgotten")
		if d.opts.Budget != nil {
			d.opts.Budget.Return(s.Run.Mark)
		}
		d.apply(ctx, s.Key, resume.Lost{Mark: s.Run.Mark})
		return
	}
	d.logOf(s.Key).Info("a resume ended while no daemon ran", "exit_known", left.Ended)
	d.report(ctx, s, d.settle(ctx, s, ended))
}

// beginPatience is how long after the claim a command begins at the latest.
const beginPatience = 5 * time.Minute

// commandOf returns the living command of a resume that an earlier daemon began.
// What the command itself started has its mark too, so the mark alone counts only if
// that daemon ended before it knew more. A command whose environment cannot be
// read, or was emptied (sudo, env -i), is known by when it began: numbers of
// processes come again after a restart of the machine.
func (d *Deliverer) commandOf(s resume.Session) (Process, bool) {
	attempt, _ := s.Tried(s.Run.Mark)
	if !d.machine.Sees() { // any process with its number may be it, and is only waited for
		left := d.machine.Left(d.files.Status(s.Key, s.Run.N))
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
	v := &delivery{Deliverer: d, session: s}
	defer v.releaseLease(ctx)
	if notSent := v.takeLease(ctx); notSent != nil {
		d.logOf(s.Key).Warn("a resume that runs has no lease", "why", notSent.Why)
	} else {
		asking, stop := context.WithCancel(ctx)
		defer stop()
		go v.insist(asking)
	}
	output := d.files.Output(s.Key, s.Run.N)
	process.Bind(runner.Command{Mark: s.Run.Mark, Output: output, Status: d.files.Status(s.Key, s.Run.N), Bounds: d.bounds, Signs: d.signsOfLife(s)})
	d.logOf(s.Key).Info("a resume of the daemon before still runs", "pid", process.Identity().PID)
	d.apply(ctx, s.Key, resume.Started{Mark: s.Run.Mark, Process: process.Identity()})
	d.report(ctx, s, d.followRun(ctx, s, process, output))
}

// nextHostsTry lies between two tries to get what runs already from the other hosts.
const nextHostsTry = 10 * time.Second

// insist asks the other hosts for a session that runs here already, until they agree.
func (v *delivery) insist(ctx context.Context) {
	for ctx.Err() == nil && v.askHosts(ctx) != nil {
		pause(ctx, nextHostsTry)
	}
}

// concludeHandOver finds out what became of a prompt that an earlier daemon was
// handing over. Only the transcript can tell, or the queue that it is in; it
// is never handed over again. A command that hands it over and still runs is waited for: a person
// who is told of it may want the next one at once.
func (d *Deliverer) concludeHandOver(ctx context.Context, s resume.Session) resume.Event {
	a := d.opts.Settings().Agent(s.Key.Agent)
	process, alive := d.machine.Find(s.Run.Mark)
	switch {
	case a != nil && alive:
		return d.handOver(ctx, a, s, process)
	case a != nil && (arrived(ctx, a, s) || d.isQueued(ctx, a, s)):
		return resume.Ended{Outcome: resume.Delivered}
	}
	return unknown("resumed ended while it handed over the prompt, and the transcript does not tell whether it was sent")
}
