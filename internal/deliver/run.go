package deliver

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/sanitize"
)

// followRun waits for a running command and returns how it ended, or nil if the daemon stops first.
func (d *Deliverer) followRun(ctx context.Context, session resume.Session, process Process, output string) resume.Event {
	searching, stop := context.WithCancel(ctx)
	var search sync.WaitGroup
	if session.Pending() {
		search.Go(func() { d.findTaskSession(searching, session, output) })
	}
	result := d.await(ctx, session.Run.Mark, process)
	stop()
	search.Wait() // the end of the task comes after what was found
	if ctx.Err() != nil {
		return nil
	}
	if result.Err != nil && d.machine.Left(d.files.Status(session.Key, session.Run.N)).Announced {
		return tryAgain("its command was not begun, because its status file could not be written: is the disk full?")
	}
	return d.ended(ctx, session, result, output)
}

// await waits for a command, which Stop may stop meanwhile.
func (d *Deliverer) await(ctx context.Context, mark string, process Process) runner.Result {
	d.tracker.running.Store(mark, process)
	defer d.tracker.running.Delete(mark)
	return process.Wait(ctx)
}

func (d *Deliverer) bounds() (timeout, stall time.Duration) {
	settings := d.opts.Settings()
	return settings.Timeout, settings.Stall
}

// signsOfLife returns the files that change while the agent works. A database has a write-ahead log.
func (d *Deliverer) signsOfLife(s resume.Session) func() []string {
	return func() []string {
		if s.Transcript == "" {
			s = d.sessionOfTask(s) // its transcript is created while the command runs
		}
		if s.Transcript == "" {
			return nil
		}
		return []string{s.Transcript, s.Transcript + "-wal"}
	}
}

// resultTail is how much of the end of a run's output is searched for its result.
const resultTail = 64 << 10

// ended returns what the end of a command means, and removes files that it left.
func (d *Deliverer) ended(ctx context.Context, session resume.Session, result runner.Result, output string) resume.Ended {
	ended := ending(result, output)
	if session.Pending() {
		d.findTaskSessionLate(ctx, session, output)
		if session = d.sessionOfTask(session); session.Transcript == "" {
			return ended // without a transcript no more is known of the session
		}
	}
	a := d.opts.Settings().Agent(session.Key.Agent)
	if a == nil {
		return ended
	}
	if err := a.Tidy(ctx, session); err != nil && ctx.Err() == nil {
		d.logOf(session.Key).Warn("what a resume left could not be removed", "err", err)
	}
	attempt, known := session.Tried(session.Run.Mark)
	if ended.Outcome == resume.TimedOut || !known {
		return ended
	}
	tail, _ := runner.Tail(output, resultTail) // most agents record it in their transcript
	denial, denied, err := a.Denied(ctx, session, agent.Ran{Since: attempt.StartedAt, Output: tail})
	if err != nil && ctx.Err() == nil {
		d.logOf(session.Key).Warn("it could not be read whether a resume was refused something", "err", err)
	}
	if denied {
		ended.Outcome, ended.Err = resume.Denied, denial.String()
	}
	return ended
}

func ending(result runner.Result, output string) resume.Ended {
	if result.Err == nil {
		return resume.Ended{Outcome: resume.Delivered}
	}
	if timeout, ok := errors.AsType[*runner.TimeoutError](result.Err); ok {
		return resume.Ended{Outcome: resume.TimedOut, Err: timeout.Error()}
	}
	failed := resume.Ended{Outcome: resume.Failed, Err: result.Err.Error()}
	words, _ := runner.Tail(output, 2048) // without the output, the error alone is reported
	words = strings.TrimSpace(words)
	if last := strings.TrimSpace(words[strings.LastIndexByte(words, '\n')+1:]); last != "" {
		failed.Err += ": " + sanitize.Short(last, sanitize.Sentence)
	}
	return failed
}

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

func (d *Deliverer) findTaskSessionLate(ctx context.Context, task resume.Session, output string) {
	ctx, cancel := context.WithTimeout(ctx, lateTranscript)
	defer cancel()
	if id, _ := d.begun(task, output); id != "" {
		d.findTaskSession(ctx, task, output)
	}
}

// begun returns the session that the command of a task says it has begun. told is false if it never says that.
func (d *Deliverer) begun(task resume.Session, output string) (id string, told bool) {
	teller, told := d.opts.Settings().Agent(task.Key.Agent).(agent.IDPrinter)
	if told {
		id = teller.ParseSessionID(runner.Head(output, beginningSize))
	}
	return id, told
}

// noteTaskSession stores which session a task has begun, and reports whether the search is over.
func (d *Deliverer) noteTaskSession(ctx context.Context, task resume.Session, output string) bool {
	id, told := d.begun(task, output)
	now, err := d.opts.Engine.Session(ctx, task.Key)
	if !told || err != nil || !now.Pending() {
		return true
	}
	if id == "" || runner.CheckID(id) != nil {
		return false
	}
	key := resume.Key{Agent: task.Key.Agent, ID: id}
	if _, err := d.opts.Engine.Session(ctx, key); err != nil {
		return false // the id counts once the session's transcript was read
	}
	if now.Origin != nil { // first: if the daemon ends now, the next one searches again
		d.apply(ctx, key, resume.Learned{Origin: now.Origin, Kind: resume.Headless})
	}
	d.apply(ctx, task.Key, resume.Became{Session: id})
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
