package deliver

import (
	"context"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// The command of a task prints which session it has begun. Most do so at once, so the looks
// at their output grow rarer.
const (
	firstOutputLook = 100 * time.Millisecond
	lastOutputLook  = 5 * time.Second
)

// findTaskSession waits until the command of a task has printed which session it began.
func (d *Deliverer) findTaskSession(ctx context.Context, task resume.Session, output string) {
	for every := firstOutputLook; ctx.Err() == nil && !d.noteTaskSession(ctx, task, output); every = min(2*every, lastOutputLook) {
		pause(ctx, every)
	}
}

// lateTranscript is how long after the end of a command its transcript may be read at last.
const lateTranscript = 10 * time.Second

// findTaskSessionLate does so for a command that is over.
func (d *Deliverer) findTaskSessionLate(ctx context.Context, task resume.Session, output string) {
	ctx, cancel := context.WithTimeout(ctx, lateTranscript)
	defer cancel()
	if teller, ok := d.opts.Settings().Agent(task.Key.Agent).(agent.Teller); ok && teller.Begun(runner.Head(output, beginningSize)) != "" {
		d.findTaskSession(ctx, task, output)
	}
}

// noteTaskSession notes which session the command of a task has begun, and reports whether there
// is nothing more to wait for.
func (d *Deliverer) noteTaskSession(ctx context.Context, task resume.Session, output string) bool {
	teller, ok := d.opts.Settings().Agent(task.Key.Agent).(agent.Teller)
	if !ok {
		return true
	}
	now, err := d.opts.Engine.Session(ctx, task.Key)
	if err != nil || !now.Pending() {
		return true
	}
	id := teller.Begun(runner.Head(output, beginningSize))
	if id == "" || runner.CheckID(id) != nil {
		return false
	}
	key := resume.Key{Agent: task.Key.Agent, ID: id}
	if _, err := d.opts.Engine.Session(ctx, key); err != nil {
		return false // what it prints counts once its transcript is there
	}
	d.apply(ctx, task.Key, resume.Became{Session: id})
	if now.Origin != nil {
		d.apply(ctx, key, resume.Learned{Origin: now.Origin, Kind: resume.Headless})
	}
	return true
}

// beginningSize is how much of what a command prints may hold the id of its session.
const beginningSize = 64 << 10

// sessionOfTask returns the session that a task became, in the run that the task is in.
func (d *Deliverer) sessionOfTask(task resume.Session) resume.Session {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // a daemon that stops answers nothing
	defer cancel()
	now, err := d.opts.Engine.Session(ctx, task.Key)
	if err != nil || now.Task == nil {
		return task
	}
	if now.IsPlaceholder() && now.Task.Session != "" {
		if now, err = d.opts.Engine.Session(ctx, resume.Key{Agent: task.Key.Agent, ID: now.Task.Session}); err != nil {
			return task
		}
	}
	now.Run, now.Attempts, now.Past = task.Run, task.Attempts, nil
	return now
}
