package app

import (
	"context"
	"sync"
	"time"

	"resumed/internal/resume"
	"resumed/internal/runner"
)

// recover finds out what became of the resumes that an earlier daemon began. A
// living command is adopted. Of one that is gone the transcript tells, so it is
// read first; where it tells nothing the resume took no effect and is sent
// again.
func (d *daemon) recover(ctx context.Context, sessions []resume.Session) error {
	var each sync.WaitGroup
	defer each.Wait()
	for _, s := range sessions {
		if s.Run == nil {
			continue
		}
		if process, alive := commandOf(s); alive && !s.Run.Unverifiable {
			each.Go(func() { d.adopt(ctx, s, process) })
		} else {
			each.Go(func() { d.conclude(ctx, s) })
		}
	}
	return nil
}

// conclude finds out what became of a resume whose command is gone.
func (d *daemon) conclude(ctx context.Context, s resume.Session) {
	if awaitAll(ctx, d.feedsOf(s.Key.Agent)) != nil {
		return // the daemon stops
	}
	if s.Run.Unverifiable {
		d.recoverUnproved(ctx, s)
		return
	}
	d.tidy(ctx, s)
	if words, denied := d.denied(ctx, s, d.outputOf(s)); denied {
		d.tell(ctx, s.Key, resume.Ended{Mark: s.Run.Mark, Outcome: resume.Denied, Err: words})
		return
	}
	d.log.Info("a resume left no trace and is forgotten", "session", s.Key.ID, "agent", s.Key.Agent)
	d.tell(ctx, s.Key, resume.Lost{Mark: s.Run.Mark})
}

// beginPatience is how long after the claim a command begins at the latest.
const beginPatience = 5 * time.Minute

// commandOf returns the living command of a resume that an earlier daemon began.
// What it left behind carries its mark too, so the mark alone tells only where
// the daemon ended before it knew more. A command whose environment cannot be
// read, or was emptied (sudo, env -i), is known by when it began: numbers of
// processes come again after a restart of the machine.
func commandOf(s resume.Session) (*runner.Process, bool) {
	marked, alive := runner.Find(s.Run.Mark)
	if s.Run.Process.Start == 0 {
		return marked, alive
	}
	process, known := runner.Adopt(s.Run.Process)
	if !known || alive {
		return process, known
	}
	attempt, _ := s.Tried(s.Run.Mark)
	late := process.Began().Sub(attempt.StartedAt)
	return process, -time.Second < late && late < beginPatience
}

func (d *daemon) adopt(ctx context.Context, s resume.Session, process *runner.Process) {
	output := d.outputOf(s)
	process.Bind(runner.Command{Mark: s.Run.Mark, Output: output, Bounds: d.bounds, Signs: signsOfLife(s)})
	d.log.Info("a resume of the daemon before still runs", "session", s.Key.ID, "agent", s.Key.Agent, "pid", process.PID)
	d.tell(ctx, s.Key, resume.Started{Mark: s.Run.Mark, Process: process.Process})
	release, held := d.lease(s.Key)
	if held != nil {
		d.log.Warn("a resume that runs has no lease", "session", s.Key.ID, "agent", s.Key.Agent, "why", held.Why)
	}
	defer release()
	d.follow(ctx, s, process, output)
}
