package deliver

import (
	"cmp"
	"context"
	"sync"
	"time"

	"resumed/internal/resume"
	"resumed/internal/runner"
)

// Recover finds out the results of the resumes that an earlier daemon began. A living command is
// adopted. The result of one that is gone is in the transcript, which is read first, and in the files
// that the command wrote.
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

// conclude finds out the result of a resume after its command is gone. A resume that was begun counts,
// however it ended and even if it left no trace: what it did must not be done twice. Only a claim that
// was never begun had no effect. It is sent again and costs no attempt.
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
		d.apply(ctx, s.Key, resume.Lost{Mark: s.Run.Mark})
		return
	}
	d.logOf(s.Key).Info("a resume ended while no daemon ran", "exit_known", left.Ended)
	d.report(ctx, s, ended)
}

// beginPatience is how long after the claim a command begins at the latest.
const beginPatience = 5 * time.Minute

// commandOf returns the living command of a resume that an earlier daemon began. Processes that the
// command started have its mark too, so the mark alone counts only if that daemon ended before it
// stored the process. If the environment of a command cannot be read, or was emptied (sudo, env -i),
// the command is identified by its start time: pids are used again after a reboot.
func (d *Deliverer) commandOf(s resume.Session) (Process, bool) {
	attempt, _ := s.Tried(s.Run.Mark)
	if !d.machine.Sees() { // any process with its pid may be it; it is only waited for
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

// nextHostsTry is the time between two tries of insist.
const nextHostsTry = 10 * time.Second

// insist asks for the lease among hosts of a session that runs here already, until it gets it.
func (v *delivery) insist(ctx context.Context) {
	for ctx.Err() == nil && v.askHosts(ctx) != nil {
		pause(ctx, nextHostsTry)
	}
}

// concludeHandOver finds out the result of a prompt that an earlier daemon was handing over. Only the
// transcript or the agent's queue shows it; the prompt is never handed over again. A hand-over command
// that still runs is waited for before anything is reported: a person may order the next resume at
// once. The agent has as much time to record the prompt as without a new daemon.
func (d *Deliverer) concludeHandOver(ctx context.Context, s resume.Session) resume.Event {
	a := d.opts.Settings().Agent(s.Key.Agent)
	const lost = "resumed ended while it handed over the prompt, and the transcript does not tell whether it was sent"
	process, alive := d.machine.Find(s.Run.Mark)
	switch {
	case a == nil:
		return unknown(lost)
	case alive:
		process.Bind(runner.Command{Mark: s.Run.Mark, Output: d.files.Output(s.Key, s.Run.N), Bounds: handOverBounds})
		if d.await(ctx, s.Run.Mark, process); ctx.Err() != nil {
			return nil
		}
		return d.appears(ctx, a, s, queuePatience, wasQueued)
	case d.isQueued(ctx, a, s):
		return resume.Ended{Outcome: resume.Delivered}
	}
	patience := queuePatience
	if s.Run.Process.PID != 0 {
		patience = linePatience // it was typed into the terminal of that process
	}
	return d.appears(ctx, a, s, min(patience, patience-time.Since(s.LastStart())), lost)
}
