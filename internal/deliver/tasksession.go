package deliver

import (
	"context"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// The command of a task prints the id of the session that it begins. Most do so at once, so its output
// is read less and less often.
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

// lateTranscript is how long after the end of a command its transcript is still waited for.
const lateTranscript = 10 * time.Second

// findTaskSessionLate is findTaskSession for a command that is over.
func (d *Deliverer) findTaskSessionLate(ctx context.Context, task resume.Session, output string) {
	ctx, cancel := context.WithTimeout(ctx, lateTranscript)
	defer cancel()
	if teller, ok := d.opts.Settings().Agent(task.Key.Agent).(agent.Teller); ok && teller.Begun(runner.Head(output, beginningSize)) != "" {
		d.findTaskSession(ctx, task, output)
	}
}

// noteTaskSession stores which session the command of a task has begun, and reports whether the search
// is over.
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
		return false // the id counts once the session's transcript was read
	}
	d.apply(ctx, task.Key, resume.Became{Session: id})
	if now.Origin != nil {
		d.apply(ctx, key, resume.Learned{Origin: now.Origin, Kind: resume.Headless})
	}
	return true
}

// beginningSize is how much of the beginning of the output is searched for the session's id.
const beginningSize = 64 << 10

// sessionOfTask returns the session that a task became, with the run of the task.
func (d *Deliverer) sessionOfTask(task resume.Session) resume.Session {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // an engine that stops does not answer
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
